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
  private readonly _piecesByState = new Map<
    string,
    Map<number, SessionStateNotice>
  >();

  /** Adds a piece; returns all pieces of its state in order once it is complete. */
  add(notice: SessionStateNotice): readonly SessionStateNotice[] | null {
    const { resync, seq, pieces } = notice;
    const stateKey = JSON.stringify([resync, seq, pieces]);
    const statePieces =
      this._piecesByState.get(stateKey) ??
      new Map<number, SessionStateNotice>();
    this._piecesByState.set(stateKey, statePieces);
    const pieceNumber = notice.piece ?? statePieces.size;
    if (!statePieces.has(pieceNumber)) {
      statePieces.set(pieceNumber, notice);
    }
    const [oldestKey] = this._piecesByState.keys();
    if (this._piecesByState.size > MAX_STATES && oldestKey !== undefined) {
      this._piecesByState.delete(oldestKey);
    }
    // An older kernel sends no numbers; its last piece is marked as the last.
    const isComplete =
      pieces === undefined ? notice.last : statePieces.size === pieces;
    return isComplete
      ? [...statePieces]
          .sort(([left], [right]) => left - right)
          .map(([, piece]) => piece)
      : null;
  }
}

/** Returns the messages of a state, each once: pieces without numbers may be duplicated. */
export function assembledMessages(
  pieces: readonly SessionStateNotice[]
): Message[] {
  const messagesById = new Map<string, Message>();
  for (const message of pieces.flatMap(piece => piece.messages)) {
    messagesById.set(message.info.id, message);
  }
  return [...messagesById.values()];
}
