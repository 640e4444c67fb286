/**
 * Assembles session states from numbered pieces.
 *
 * A piece may arrive twice, since a page may have two connections to a kernel for a while, and pieces
 * of a state that another page requested may come in between.
 */
import type { Message, SessionStateNotice } from '../../protocol/generated';

/** The number of incomplete states kept: a page also receives those that other pages requested. */
const MAX_STATES = 4;

/** The received pieces of one session's states. */
export class TranscriptPieces {
  private readonly _byState = new Map<
    string,
    Map<number, SessionStateNotice>
  >();

  /** Adds a piece; returns all pieces of its state in order once it is complete. */
  add(notice: SessionStateNotice): readonly SessionStateNotice[] | null {
    const { resync, seq, pieces } = notice;
    const name = JSON.stringify([resync, seq, pieces]);
    const known =
      this._byState.get(name) ?? new Map<number, SessionStateNotice>();
    this._byState.set(name, known);
    const number = notice.piece ?? known.size;
    if (!known.has(number)) {
      known.set(number, notice);
    }
    const [oldest] = this._byState.keys();
    if (this._byState.size > MAX_STATES && oldest !== undefined) {
      this._byState.delete(oldest);
    }
    // An older kernel sends no numbers; its last piece is marked as the last.
    const isWhole = pieces === undefined ? notice.last : known.size === pieces;
    return isWhole
      ? [...known]
          .sort(([left], [right]) => left - right)
          .map(([, piece]) => piece)
      : null;
  }
}

/** Returns the messages of a state, each once: pieces without numbers may be duplicated. */
export function assembledMessages(
  pieces: readonly SessionStateNotice[]
): Message[] {
  const byId = new Map<string, Message>();
  for (const message of pieces.flatMap(piece => piece.messages)) {
    byId.set(message.info.id, message);
  }
  return [...byId.values()];
}
