-- Questions for the constructions of the papers, on three columns of Adult.

-- The row count itself is private.
SELECT COUNT(*) AS people FROM adult;

-- Each group is a question of its own, with a test and perhaps a hard round.
SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex;

-- The construction has learned from the groups before.
SELECT COUNT(*) AS n FROM adult WHERE sex = 'Male' AND income = '>50K';

SELECT COUNT(*) AS n FROM adult WHERE marital_status IN ('Divorced', 'Separated', 'Widowed');

-- Asked before: the same answer, free.
SELECT COUNT(*) AS n FROM adult WHERE NOT (sex = 'Female');
