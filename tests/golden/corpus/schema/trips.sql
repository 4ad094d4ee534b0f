CREATE TABLE zones AS SELECT ['Astoria', 'Bedford', 'Chelsea', 'Flushing', 'Harlem', 'Tribeca'][i] AS zone,
  ['Queens', 'Brooklyn', 'Manhattan', 'Queens', 'Manhattan', 'Manhattan'][i] AS borough FROM range(1, 7) AS t(i);
CREATE TABLE payments AS SELECT i AS payment, ['card', 'cash', 'no charge'][i] AS label FROM range(1, 4) AS t(i);
CREATE TABLE trips AS SELECT 10000 + i % 900 AS rider, ['North', 'South'][1 + (i // 7) % 2] AS vendor,
  ['Astoria', 'Bedford', 'Chelsea', 'Flushing', 'Harlem', 'Tribeca'][1 + (i * i) % 6] AS zone, 1 + i % 3 AS payment,
  1 + (i // 5) % 5 AS passengers, DATE '2024-01-01' + CAST(i % 180 AS INTEGER) AS day, (i * 11) % 24 AS hour,
  round(0.5 + (i * 37 % 190) / 10, 1) AS distance, round(3 + (i * 53 % 600) / 10, 2) AS fare FROM range(3000) AS t(i);
