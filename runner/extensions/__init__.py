"""Extensions, which the core never imports: it finds them in `registry`."""
