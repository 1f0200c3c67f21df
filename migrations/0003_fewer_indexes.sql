-- Each index costs pages in every commit. The id of a turn begins with its time, so the primary key lists the latest first.
DROP INDEX turn_by_start;
DROP INDEX turn_by_trace;
