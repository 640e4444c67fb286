/** The data of a report, as `review/timeline_view/report_data.py` writes it: equal columns stand once. */
import type {
  CompactionText,
  NotesText,
  SessionComparison,
  TimelineView,
  TrackStop
} from '../protocol/generated';
import { isObject } from '../protocol/jsonValues';

/** The names that answers used, with the items that contain them; each use is a row of the last three columns. */
export interface IReportUses {
  readonly names: readonly string[];
  readonly items: readonly (readonly number[])[];
  readonly request: readonly number[];
  /** Indexes in `names`. */
  readonly name: readonly number[];
  /** How many of the name's items, from the first on, existed then. */
  readonly sources: readonly number[];
}

export interface IReportData {
  readonly view: TimelineView;
  /** Each policy with its own numbers first, then with one number moved at a time. */
  readonly stops: readonly TrackStop[];
  readonly texts: 'none' | 'preview' | 'all';
  /** The text of each item, or its beginning; empty where the report has none. */
  readonly items: readonly string[];
  readonly uses: IReportUses;
  readonly compactions: readonly CompactionText[];
  /** The notes of people on the session. */
  readonly notes: NotesText;
  /** The sessions that the session's calls started, directly or through others, by their ids. */
  readonly subagents: Readonly<Record<string, IReportData>>;
}

/** Returns the data with its shared columns inserted; null for data of another version. */
export function readReport(packed: unknown): IReportData | null {
  if (!isObject(packed) || !Array.isArray(packed.columns)) {
    return null;
  }
  const data = withColumns(packed.data, packed.columns);
  return isObject(data) && isObject(data.view) && Array.isArray(data.stops)
    ? (data as unknown as IReportData)
    : null;
}

/** The second session of a report of two, and how both compare. */
export interface IComparedReport {
  readonly second: IReportData;
  readonly comparison: SessionComparison;
}

/** Returns what a report holds of a second session; null where it holds one session, or data of another version. */
export function readComparedReport(packed: unknown): IComparedReport | null {
  if (!isObject(packed) || !isObject(packed.comparison)) {
    return null;
  }
  const second = readReport(packed.second);
  const { first, second: other, figures } = packed.comparison;
  return second !== null &&
    isObject(first) &&
    isObject(other) &&
    Array.isArray(figures)
    ? {
        second,
        comparison: packed.comparison as unknown as SessionComparison
      }
    : null;
}

function withColumns(value: unknown, columns: readonly unknown[]): unknown {
  if (Array.isArray(value)) {
    return value.map(element => withColumns(element, columns));
  }
  if (!isObject(value)) {
    return value;
  }
  const { column } = value;
  if (typeof column === 'number' && Object.keys(value).length === 1) {
    return columns[column];
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, element]) => [
      name,
      withColumns(element, columns)
    ])
  );
}
