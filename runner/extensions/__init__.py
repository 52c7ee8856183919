"""Parts of the product that the core never imports: it finds them by `registry`."""
