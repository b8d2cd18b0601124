"""Tasks on the bundled models, one file each; `table` lists them."""
