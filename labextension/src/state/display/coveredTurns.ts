/** Finds what a compaction's summary covers among a session's turns. */
import type { CompactionPart } from '../../protocol/generated';
import type { IShownPlace } from './shownPlace';
import type { ITurn } from './turns';

/**
 * Returns the newest turn that a summary covers, at its first piece of work, so that the row around it opens;
 * null where nothing is known of it.
 */
export function newestCovered(
  turns: readonly ITurn[],
  mark: CompactionPart
): IShownPlace | null {
  const { message_id, tail_start_id } = compactionInSession(turns, mark);
  const ids = turns.flatMap(({ entries }) => entries.map(({ id }) => id));
  const tail = ids.indexOf(tail_start_id ?? '');
  const end = tail >= 0 ? tail : ids.indexOf(message_id);
  let entriesBefore = 0;
  let newest: ITurn | null = null;
  for (const turn of turns) {
    if (entriesBefore >= end) {
      break;
    }
    newest = turn;
    entriesBefore += turn.entries.length;
  }
  if (newest === null) {
    return null;
  }
  const work = newest.messages
    .flatMap(({ parts }) => parts)
    .find(({ type }) => type === 'tool');
  return {
    turn: newest.key,
    line: work?.id ?? newest.key,
    isScrolledTo: true
  };
}

/** Returns the marker as the session has it: a cell that asked for a compaction shows only the summary. */
function compactionInSession(
  turns: readonly ITurn[],
  mark: CompactionPart
): CompactionPart {
  const all = turns.flatMap(({ entries }) => entries);
  const info = all.find(({ id }) => id === mark.message_id)?.message.info;
  const parent = info?.role === 'assistant' ? info.parent_id : mark.message_id;
  return (
    all
      .find(({ id }) => id === parent)
      ?.message.parts.find(part => part.type === 'compaction') ?? mark
  );
}
