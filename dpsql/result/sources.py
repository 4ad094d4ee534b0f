"""From where a statement's questions would be answered, in the words that its public plan says it with.

``session`` writes them into a ``QueryPlan``, ``interface`` decides by them what to say of a charge and shortens them.
"""

MODEL = "hypothesis"
TESTED = "hypothesis if the test passes, else a measurement"
UNTESTED = "hypothesis, not certified: no test left"
MEASURED = "a measurement"
OWN = "a measurement of its own"
SPARE = "a measurement of its own, for the model could be far off"
ON_DEMAND = "a measurement on demand"
FIRST_TOUCH = "the first touch of the column"
OWNERS_WORD = "the owner's word on the rows of a string"
KNOWN = "an equal question's answer"
RELEASED = "what is released already"
SOURCES = (MODEL, TESTED, UNTESTED, MEASURED, OWN, SPARE, ON_DEMAND, FIRST_TOUCH, OWNERS_WORD, KNOWN, RELEASED)
