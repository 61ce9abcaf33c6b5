"""Who may do what: rules, modes, and the question that a person is asked.

Nothing here runs anything; it judges a call before it is run, and answers with data that every face can show.
"""
