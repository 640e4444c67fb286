/** Texts of a session: in a box, with the search matches marked, or a name whose lines end where its parts do. */
import { Fragment, type ReactNode } from 'react';
import type { ViewAnswer } from '../../../protocol/generated';
import { useHost } from '../../host';
import { useInspectedSession } from './inspection';

/** Draws why a text is not there: it is still awaited, or the answer says that it cannot be shown. */
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
const PARTS = /(?<=[/.])|(?<=_)(?=[^/._]{3})/;

/** Draws the name of a model or a policy; without room for a part it is broken anywhere. */
export function BreakableName({ name }: { name: string }) {
  return (
    <bdi className="plm-Inspector-breakable">
      {name.split(PARTS).map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

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
