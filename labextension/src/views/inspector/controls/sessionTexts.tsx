/** Texts of a session: in a box, with the search matches marked, or a name whose lines end where its parts do. */
import { Fragment, type ReactNode } from 'react';
import type { ViewAnswer } from '../../../protocol/generated';
import { useHost } from '../../host';
import { useInspectedSession } from './inspection';

/** The length of a text that is searched for. */
export const MAX_QUERY_CHARS = 300;

/** Draws why a text is missing: it is still awaited, or the answer says that it cannot be shown. */
export function MissingText({ answer }: { answer: ViewAnswer | null }) {
  const { words } = useHost();
  const { source } = useInspectedSession();
  return (
    <p className="plm-Muted" role="status">
      {answer?.error || (source.waitSentence ?? words.__('Reading…'))}
    </p>
  );
}

/** Draws a text in a box that scrolls. */
export function BoxedText(props: { label: string; children: ReactNode }) {
  return (
    <pre
      className="plm-Inspector-text"
      dir="auto"
      role="group"
      aria-label={props.label}
      tabIndex={0}
    >
      {props.children}
    </pre>
  );
}

/** A part ends behind a slash or a dot, and behind an underscore where more than a letter or two follow. */
const PART_ENDS = /(?<=[/.])|(?<=_)(?=[^/._]{3})/;

/** Draws the name of a model or a policy; without room for a part it is broken anywhere. */
export function BreakableName({ name }: { name: string }) {
  return (
    <bdi className="plm-Inspector-breakable">
      {name.split(PART_ENDS).map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

interface IMatchPiece {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Draws a text with the matches marked. */
export function MarkedText({ text, query }: { text: string; query: string }) {
  return (
    <>
      {textPieces(text, query).map((piece, index) =>
        piece.isMatch ? <mark key={index}>{piece.text}</mark> : piece.text
      )}
    </>
  );
}

/** Returns the number of matches in a text. */
export function matchCount(text: string, query: string): number {
  return textPieces(text, query).filter(piece => piece.isMatch).length;
}

function textPieces(text: string, query: string): readonly IMatchPiece[] {
  if (query === '') {
    return [{ text, isMatch: false }];
  }
  const pieces: IMatchPiece[] = [];
  const lowerText = text.toLowerCase();
  const lowerQuery = query.toLowerCase();
  let pieceStart = 0;
  // Letters whose lower case is longer would shift the places.
  const isSafe = lowerText.length === text.length;
  for (
    let matchStart = isSafe ? lowerText.indexOf(lowerQuery) : -1;
    matchStart >= 0;
    matchStart = lowerText.indexOf(lowerQuery, pieceStart)
  ) {
    pieces.push({ text: text.slice(pieceStart, matchStart), isMatch: false });
    pieceStart = matchStart + lowerQuery.length;
    pieces.push({ text: text.slice(matchStart, pieceStart), isMatch: true });
  }
  pieces.push({ text: text.slice(pieceStart), isMatch: false });
  return pieces;
}
