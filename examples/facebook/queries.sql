-- Cuts of SNAP's ego network of Facebook (J. McAuley and J. Leskovec, https://snap.stanford.edu/data/ego-Facebook.html).
-- dpsql run data/facebook.duckdb examples/facebook/queries.sql --policy examples/facebook/facebook.dpsql.toml

SELECT COUNT(*) AS edges FROM facebook;

-- A cut (S, T): a condition on each column. Ranges, lists and any other condition on one column will do.
SELECT COUNT(*) AS n FROM facebook WHERE src < 1000 AND dst >= 1000;

SELECT COUNT(*) AS n FROM facebook WHERE src IN (0, 107, 348, 414, 686, 698) AND dst % 2 = 0;

-- Each edge is stored once, so the edges between S and T in both orders are two cuts, added.
SELECT COUNT(*) FILTER (WHERE src < 1500 AND dst >= 2500) + COUNT(*) FILTER (WHERE src >= 2500 AND dst < 1500) AS n
FROM facebook;

-- Edges inside a set of vertices: one cut, whatever their order.
SELECT COUNT(*) AS n FROM facebook WHERE src BETWEEN 2000 AND 2999 AND dst BETWEEN 2000 AND 2999;
