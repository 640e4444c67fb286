/**
 * Standalone parts, each on a line of its own: files, named agents, subtasks, changes and others.
 *
 * A new type of part needs a row here; without it this does not compile.
 */
import type { ComponentType } from 'react';
import type { StandalonePart } from '../../state/lines/lines';
import { AttachmentView } from './attachments';
import { SentCells, sentCellsText } from './toldCells';
import { useHost, type IWords } from '../host';

interface IStandaloneKind<T extends StandalonePart> {
  /** Returns the part's text; empty if it shows none. */
  text(part: T, words: IWords): string;
  /** Draws the part, if its text is not enough. */
  View?: ComponentType<{ part: T }>;
}

type StandaloneKinds = {
  [T in StandalonePart['type']]: IStandaloneKind<
    Extract<StandalonePart, { type: T }>
  >;
};

const STANDALONE_KINDS: StandaloneKinds = {
  file: {
    text: part => part.filename ?? part.mime,
    View: ({ part }) => <AttachmentView file={part} />
  },
  patch: {
    text: (part, words) => words.__('Changed: %1', fileNames(part.files, words))
  },
  agent: { text: (part, words) => words.__('Agent: %1', part.name) },
  subtask: {
    text: (part, words) =>
      words.__('Subagent %1: %2', part.agent, part.description)
  },
  notebook: { text: sentCellsText, View: SentCells }
};

/** Returns the row of a part; none for a type of a newer kernel. */
function kindOf(part: StandalonePart) {
  return (
    STANDALONE_KINDS as Partial<Record<string, IStandaloneKind<StandalonePart>>>
  )[part.type];
}

/** Draws one part. */
export function StandalonePartView({ part }: { part: StandalonePart }) {
  const { words } = useHost();
  const View = kindOf(part)?.View;
  if (View !== undefined) {
    return <View part={part} />;
  }
  const partText = standalonePartText(part, words);
  return partText === '' ? null : <p className="plm-Muted">{partText}</p>;
}

/** Returns the text of one part. */
export function standalonePartText(
  part: StandalonePart,
  words: IWords
): string {
  return kindOf(part)?.text(part, words) ?? '';
}

/** The maximum number of named files; the rest is counted. */
const MAX_FILES = 6;

function fileNames(files: readonly string[], words: IWords): string {
  const names = files.slice(0, MAX_FILES).join(', ');
  return files.length > MAX_FILES
    ? words.__('%1 and %2 more', names, files.length - MAX_FILES)
    : names;
}
