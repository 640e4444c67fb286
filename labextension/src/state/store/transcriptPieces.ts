/**
 * Pictures of sessions, put together from numbered pieces.
 *
 * A piece may arrive twice, since a page hears a kernel over two connections for a while, and
 * pieces of a picture that another page asked for may come in between.
 */
import type { Message, SessionStateNotice } from '../../protocol/generated';

/** A page waits for one picture of a session, and hears those that other pages wait for. */
const AT_ONCE = 4;

/** The pieces of one session's pictures, as far as they came. */
export class TranscriptPieces {
  private readonly _byPicture = new Map<
    string,
    Map<number, SessionStateNotice>
  >();

  /** Stores a piece; returns all of its picture in order as soon as none is missing. */
  add(notice: SessionStateNotice): readonly SessionStateNotice[] | null {
    const { resync, seq, pieces } = notice;
    const name = JSON.stringify([resync, seq, pieces]);
    const known =
      this._byPicture.get(name) ?? new Map<number, SessionStateNotice>();
    this._byPicture.set(name, known);
    const number = notice.piece ?? known.size;
    if (!known.has(number)) {
      known.set(number, notice);
    }
    const [oldest] = this._byPicture.keys();
    if (this._byPicture.size > AT_ONCE && oldest !== undefined) {
      this._byPicture.delete(oldest);
    }
    // A kernel of an older version gives no numbers; its last piece says that it is the last.
    const isWhole = pieces === undefined ? notice.last : known.size === pieces;
    return isWhole
      ? [...known].sort(([one], [other]) => one - other).map(([, it]) => it)
      : null;
  }
}

/** The messages of a picture, each once: pieces without numbers may be there twice. */
export function messagesOf(pieces: readonly SessionStateNotice[]): Message[] {
  const byId = new Map<string, Message>();
  for (const message of pieces.flatMap(piece => piece.messages)) {
    byId.set(message.info.id, message);
  }
  return [...byId.values()];
}
