-- ## As written
SELECT COUNT(*) FROM hits;
-- 0 answered
-- answered
SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0;
-- 0 answered
-- answered
SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits;
-- 0 answered
-- answered
SELECT AVG(UserID) FROM hits;
-- 3 unanswerable: it averages identifiers
-- UnsupportedQuery: line 1, column 12: UserID tells units apart, and no condition or group may | count them: COUNT(DISTINCT UserID)
SELECT COUNT(DISTINCT UserID) FROM hits;
-- 2 answered
-- answered
SELECT COUNT(DISTINCT SearchPhrase) FROM hits;
-- 2 answered
-- answered
SELECT MIN(EventDate), MAX(EventDate) FROM hits;
-- 1 answered
-- answered
SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC;
-- 0 answered
-- answered
SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC LIMIT 10;
-- 2 answered
-- answered
SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth), COUNT(DISTINCT UserID) FROM hits GROUP BY RegionID ORDER BY c DESC LIMIT 10;
-- 2 answered
-- answered
SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth) FROM hits GROUP BY RegionID ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY u DESC LIMIT 10;
-- 2 answered
-- answered
SELECT MobilePhoneModel, COUNT(*) AS c FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY u DESC LIMIT 10;
-- 2 answered
-- answered
SELECT TraficSourceID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY TraficSourceID, SearchPhrase ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC LIMIT 10;
-- 3 unanswerable: it names units
-- UnsupportedQuery: line 1, column 8: this lists each UserID of hits | count them by their rows: SELECT n, COUNT(*) FROM (SELECT UserID, COUNT(*) AS n FROM hits GROUP BY UserID) GROUP BY n
SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase LIMIT 10;
-- 3 unanswerable: it names units
-- UnsupportedQuery: line 1, column 66: rows of each UserID by an expression of other columns are not answered | group by columns with declared values, as they are
SELECT UserID FROM hits WHERE UserID = 435090932899640449;
-- 3 unanswerable: it asks for one unit's rows
-- UnsupportedQuery: line 1, column 31: UserID tells units apart, and no condition or group may | count them: COUNT(DISTINCT UserID)
SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%';
-- 7 answered
-- answered
SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;
-- 7 answered
-- answered
SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;
-- 7 answered
-- answered
SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table hits | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table hits | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT CounterID, AVG(length(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID HAVING COUNT(*) > 100 ORDER BY l DESC LIMIT 25;
-- 7 answered
-- answered
SELECT REGEXP_REPLACE(URL, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY k HAVING COUNT(*) > 10 ORDER BY c DESC LIMIT 25;
-- 7 answered
-- answered
SELECT SUM(ResolutionWidth), SUM(ResolutionWidth + 1), SUM(ResolutionWidth + 2), SUM(ResolutionWidth + 3), SUM(ResolutionWidth + 4) FROM hits;
-- 0 answered
-- answered
SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT 1, URL, COUNT(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT RegionID, RegionID - 1, RegionID - 2, RegionID - 3, COUNT(*) AS c FROM hits GROUP BY RegionID, RegionID - 1, RegionID - 2, RegionID - 3 ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' GROUP BY URL ORDER BY PageViews DESC LIMIT 10;
-- 0 answered
-- answered
SELECT Title, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> '' GROUP BY Title ORDER BY PageViews DESC LIMIT 10;
-- 0 answered
-- answered
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND IsRefresh = 0 GROUP BY URL ORDER BY PageViews DESC LIMIT 10 OFFSET 1000;
-- 0 answered
-- answered
SELECT TraficSourceID, CASE WHEN (TraficSourceID = 0 AND AdvEngineID = 0) THEN 1 ELSE 0 END AS Src, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND IsRefresh = 0 GROUP BY TraficSourceID, Src ORDER BY PageViews DESC LIMIT 10;
-- 0 answered
-- answered
SELECT TraficSourceID, AdvEngineID, EventDate, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND TraficSourceID IN (-1, 6) GROUP BY TraficSourceID, AdvEngineID, EventDate ORDER BY PageViews DESC LIMIT 10;
-- 0 answered
-- answered
SELECT DATE_TRUNC('minute', EventTime) AS M, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY DATE_TRUNC('minute', EventTime) ORDER BY DATE_TRUNC('minute', EventTime) LIMIT 10 OFFSET 1000;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 208: EventTime is declared by day, and MINUTE is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT extract(minute FROM EventTime) AS m, COUNT(*) FROM hits GROUP BY m ORDER BY m;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 28: EventTime is declared by day, and MINUTE is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT EventDate, COUNT(DISTINCT UserID) FROM hits WHERE RegionID = 2 GROUP BY EventDate ORDER BY EventDate;
-- 2 answered
-- answered
SELECT MobilePhoneModel, AdvEngineID, COUNT(*) AS c FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel, AdvEngineID ORDER BY c DESC LIMIT 10;
-- 0 answered
-- answered
SELECT COUNT(*) FROM hits WHERE SearchPhrase LIKE '%car%' AND RegionID = 3;
-- 7 answered
-- answered
SELECT upper(SearchPhrase) AS p, COUNT(*) FROM hits GROUP BY p ORDER BY 2 DESC LIMIT 10;
-- 7 answered
-- answered

-- ## Sent by tools and courses, written before any was tried
SELECT RegionID, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits WHERE IsRefresh = 0 GROUP BY RegionID HAVING COUNT(*) > 20 ORDER BY c DESC LIMIT 10 OFFSET 5;
-- 0 answered
-- answered
SELECT EventDate, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY EventDate ORDER BY EventDate;
-- 2 answered
-- answered
SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%' AND Title NOT LIKE '%oak%';
-- 7 answered
-- answered
SELECT approx_top_k(SearchPhrase, 3) FROM hits;
-- 7 answered
-- answered
SELECT histogram(AdvEngineID) FROM hits;
-- 0 answered
-- answered
SELECT arg_max(RegionID, c) FROM (SELECT RegionID, COUNT(*) AS c FROM hits GROUP BY RegionID);
-- 0 answered
-- answered
SELECT n, COUNT(*) AS units FROM (SELECT UserID, COUNT(*) AS n FROM hits WHERE AdvEngineID <> 0 GROUP BY UserID) GROUP BY n ORDER BY n;
-- 3 answered
-- answered
