"""Tables, figures and the HTML page: no arithmetic beyond formatting."""
