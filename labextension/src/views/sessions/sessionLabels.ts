/** Titles and summaries of sessions. */
import type { SessionSummary } from '../../protocol/generated';
import type { IWords } from '../host';

/** Returns details that distinguish sessions with the same title. */
export function sessionSummary(row: SessionSummary, words: IWords): string {
  const { messages } = row;
  return [
    timeOrDayText(new Date(row.updated)),
    row.forked_from === undefined ? undefined : words.__('a fork'),
    words._n('%1 message', '%1 messages', messages),
    row.shared ? words.__('shared') : undefined,
    row.imported_from
      ? words.__('imported from %1', row.imported_from)
      : undefined,
    row.notebook
  ]
    .filter(detail => detail !== undefined)
    .join(' · ');
}

/** Formats a date: the time if it is today, else the day. */
function timeOrDayText(date: Date): string {
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString(undefined, { timeStyle: 'short' })
    : date.toLocaleDateString(undefined, { dateStyle: 'medium' });
}

/** Returns a session's title; an untitled one is called new. */
export function sessionTitle(title: string, words: IWords): string {
  return title === '' || UNNAMED_TITLE.test(title)
    ? words.__('New session')
    : title;
}

/** The title that the kernel sets before the first prompt. */
const UNNAMED_TITLE = /^New session - \d{4}-[^ ]*$/;
