/**
 * A part that is a line of its own: a file, an agent that was named, what was handed on or changed.
 *
 * Who adds a type of part draws it here; until then this does not compile.
 */
import { passedOver } from '../state/exhaustive';
import type { PlainPart } from '../state/lines';
import { File } from './file';
import { useHost, type IWords } from './host';

/** Draws one part. */
export function Plain({ part }: { part: PlainPart }) {
  const { words } = useHost();
  switch (part.type) {
    case 'file':
      return <File file={part} />;
    case 'patch':
      return (
        <p className="plm-Muted">
          {words.__('Changed: %1', listed(part.files, words))}
        </p>
      );
    case 'agent':
      return <p className="plm-Muted">{words.__('Agent: %1', part.name)}</p>;
    case 'subtask':
      return (
        <p className="plm-Muted">
          {words.__('Handed to %1: %2', part.agent, part.description)}
        </p>
      );
    default:
      return passedOver(part, null);
  }
}

/** So many files are named; the rest is counted. */
const MOST_FILES = 6;

function listed(files: readonly string[], words: IWords): string {
  const names = files.slice(0, MOST_FILES).join(', ');
  return files.length > MOST_FILES
    ? words.__('%1 and %2 more', names, files.length - MOST_FILES)
    : names;
}
