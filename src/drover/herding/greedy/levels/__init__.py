"""IC and MMS for sources of one rate, in compiled code."""
