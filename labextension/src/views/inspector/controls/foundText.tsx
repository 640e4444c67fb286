/** A text of the session in which what is looked for is marked. */

interface ITextPiece {
  readonly text: string;
  readonly isFound: boolean;
}

/** Marks where a text holds what is looked for. */
export function FoundText({ text, find }: { text: string; find: string }) {
  return (
    <>
      {pieces(text, find).map((piece, place) =>
        piece.isFound ? <mark key={place}>{piece.text}</mark> : piece.text
      )}
    </>
  );
}

/** Returns how often a text holds what is looked for. */
export function timesFound(text: string, find: string): number {
  return pieces(text, find).filter(one => one.isFound).length;
}

function pieces(text: string, find: string): readonly ITextPiece[] {
  if (find === '') {
    return [{ text, isFound: false }];
  }
  const found: ITextPiece[] = [];
  const where = text.toLowerCase();
  const wanted = find.toLowerCase();
  let from = 0;
  // Letters whose lower case is longer would shift the places.
  const isSafe = where.length === text.length;
  for (
    let at = isSafe ? where.indexOf(wanted) : -1;
    at >= 0;
    at = where.indexOf(wanted, from)
  ) {
    found.push({ text: text.slice(from, at), isFound: false });
    from = at + wanted.length;
    found.push({ text: text.slice(at, from), isFound: true });
  }
  found.push({ text: text.slice(from), isFound: false });
  return found;
}
