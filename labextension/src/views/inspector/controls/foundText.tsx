/** A text of the session with the search matches marked. */

interface ITextPiece {
  readonly text: string;
  readonly isFound: boolean;
}

/** Draws a text with the matches marked. */
export function FoundText({ text, find }: { text: string; find: string }) {
  return (
    <>
      {piecesOf(text, find).map((piece, index) =>
        piece.isFound ? <mark key={index}>{piece.text}</mark> : piece.text
      )}
    </>
  );
}

/** Returns the number of matches in a text. */
export function timesFound(text: string, find: string): number {
  return piecesOf(text, find).filter(piece => piece.isFound).length;
}

function piecesOf(text: string, find: string): readonly ITextPiece[] {
  if (find === '') {
    return [{ text, isFound: false }];
  }
  const result: ITextPiece[] = [];
  const lowerText = text.toLowerCase();
  const searched = find.toLowerCase();
  let from = 0;
  // Letters whose lower case is longer would shift the places.
  const isSafe = lowerText.length === text.length;
  for (
    let at = isSafe ? lowerText.indexOf(searched) : -1;
    at >= 0;
    at = lowerText.indexOf(searched, from)
  ) {
    result.push({ text: text.slice(from, at), isFound: false });
    from = at + searched.length;
    result.push({ text: text.slice(at, from), isFound: true });
  }
  result.push({ text: text.slice(from), isFound: false });
  return result;
}
