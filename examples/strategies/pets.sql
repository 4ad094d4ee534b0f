-- Questions for sparse weights: strings that nobody can list.

SELECT species, COUNT(*) AS n FROM pets GROUP BY species;

-- One string, and one that hardly occurs.
SELECT COUNT(*) AS n FROM pets WHERE animal_name = 'Lucy';

SELECT COUNT(*) AS n FROM pets WHERE animal_name = 'Bartholomew the Second';

-- A public list.
SELECT COUNT(*) AS n FROM pets WHERE animal_name IN (SELECT name FROM baby_names);

SELECT COUNT(*) AS dogs FROM pets WHERE animal_name = 'Lucy' AND species = 'Dog';
