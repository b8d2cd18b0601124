"""What everything else is written in: enumerations, fields, and the records Model, Option, Data and Contact."""
