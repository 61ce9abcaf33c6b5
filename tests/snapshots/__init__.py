"""Pictures of the app as text: scripted conversations in, the screen's characters and styles out."""
