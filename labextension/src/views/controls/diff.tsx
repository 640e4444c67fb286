/**
 * A difference between two texts, as a person is asked about it.
 */
import { useMemo } from 'react';
import { useHost } from '../host';

type Change = 'added' | 'removed' | 'place' | 'file' | 'same';

interface IStretch {
  change: Change;
  text: string;
}

/** Draws a unified diff; the sign at each line's beginning says what its colour says. */
export function Diff({ text }: { text: string }) {
  const { words } = useHost();
  const drawn = useMemo(() => stretches(text), [text]);
  return (
    <pre
      className="plm-Diff"
      role="group"
      aria-label={words.__('What it would change')}
      // It can be longer than its place, and has to be read before an answer.
      tabIndex={0}
    >
      {drawn.map(({ change, text }, index) => (
        <span key={index} data-change={change}>
          {text}
        </span>
      ))}
    </pre>
  );
}

/** Tells whether a diff shows each change; one that was too long to make only counts lines. */
export function showsAll(diff: string): boolean {
  return diff.includes('\n@@');
}

/** Cuts a diff into runs of lines of one sort, so that a long one needs few elements. */
export function stretches(text: string): IStretch[] {
  const found: IStretch[] = [];
  let inHead = true;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    inHead = inHead && !line.startsWith('@@');
    const change = inHead ? 'file' : changeOf(line);
    const last = found.at(-1);
    if (last?.change === change) {
      last.text += `\n${line}`;
    } else {
      found.push({ change, text: line });
    }
  }
  return found;
}

function changeOf(line: string): Change {
  switch (line[0]) {
    case '+':
      return 'added';
    case '-':
      return 'removed';
    case '@':
      return 'place';
    default:
      return 'same';
  }
}
