/** Finds what a compaction's summary covers among a session's turns. */
import type { CompactionPart } from '../../protocol/generated';
import type { ITranscriptPlace } from './openedPlace';
import type { ITurn } from './turns';

/**
 * Returns the newest turn that a summary covers, at its first piece of work, so that the row around it opens;
 * null where no turn is covered.
 */
export function newestCoveredPlace(
  turns: readonly ITurn[],
  compaction: CompactionPart
): ITranscriptPlace | null {
  const { message_id, tail_start_id } = compactionInSession(turns, compaction);
  const entryIds = turns.flatMap(({ entries }) => entries.map(({ id }) => id));
  const tailIndex = entryIds.indexOf(tail_start_id ?? '');
  const endIndex = tailIndex >= 0 ? tailIndex : entryIds.indexOf(message_id);
  let entriesBefore = 0;
  let newestTurn: ITurn | null = null;
  for (const turn of turns) {
    if (entriesBefore >= endIndex) {
      break;
    }
    newestTurn = turn;
    entriesBefore += turn.entries.length;
  }
  if (newestTurn === null) {
    return null;
  }
  const firstCall = newestTurn.messages
    .flatMap(({ parts }) => parts)
    .find(({ type }) => type === 'tool');
  return {
    turnKey: newestTurn.key,
    lineKey: firstCall?.id ?? newestTurn.key,
    isScrolledTo: true
  };
}

/** Returns the marker as the session has it: a cell that asked for a compaction shows only the summary. */
function compactionInSession(
  turns: readonly ITurn[],
  compaction: CompactionPart
): CompactionPart {
  const entries = turns.flatMap(({ entries }) => entries);
  const info = entries.find(({ id }) => id === compaction.message_id)?.message
    .info;
  const promptId =
    info?.role === 'assistant' ? info.parent_id : compaction.message_id;
  return (
    entries
      .find(({ id }) => id === promptId)
      ?.message.parts.find(part => part.type === 'compaction') ?? compaction
  );
}
