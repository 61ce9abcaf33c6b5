"""What helps a person type, the same in every face: completion, files by @name, prompts of their own, what was typed.

A face makes one ``TypingAids`` (module ``aids``) for its workspace and calls it with the text of its box.
"""
