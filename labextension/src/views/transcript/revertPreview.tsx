/** What a revert would do: the messages that it hides and the files that it changes. */
import type {
  RevertedCell,
  RevertedFile,
  RevertPreview
} from '../../protocol/generated';
import { cellName } from '../../state/review/changeWords';
import { TickBox } from '../controls/fields';
import { FileChange } from '../parts/fileChanges';
import { useHost, type IWords } from '../host';

interface IPreviewProps {
  preview: RevertPreview;
  /** Whether a prompt follows at once, so that it cannot be undone. */
  isFinal: boolean;
  overwrittenFiles: readonly string[];
  onOverwrite: (files: readonly string[]) => void;
}

/** The maximum number of named messages; the rest is counted. */
const MAX_MESSAGES = 6;

/** Draws the messages and files; a file that somebody else changed can be ticked. */
export function Preview(props: IPreviewProps) {
  const { preview, isFinal, overwrittenFiles, onOverwrite } = props;
  const { words } = useHost();
  const { messages, problem } = preview;
  const files = changedFiles(preview);
  return (
    <>
      <p>
        {words._n(
          '%1 message is reverted:',
          '%1 messages are reverted:',
          messages.length
        )}
      </p>
      <ul className="plm-Revert-messages">
        {messages.slice(0, MAX_MESSAGES).map(({ id, role, excerpt }) => (
          <li key={id} data-role={role}>
            <span className="plm-Hidden">
              {role === 'user' ? words.__('You:') : words.__('The agent:')}{' '}
            </span>
            {excerpt === '' ? words.__('(no words)') : excerpt}
          </li>
        ))}
        {messages.length > MAX_MESSAGES && (
          <li className="plm-Muted">
            {words.__('and %1 more', messages.length - MAX_MESSAGES)}
          </li>
        )}
      </ul>
      {problem !== undefined && <p className="plm-Muted">{problem}</p>}
      {files.length > 0 && (
        <>
          <p>{words._n('%1 file:', '%1 files:', files.length)}</p>
          <ul className="plm-FileChanges-files">
            {files.map(file => (
              <li key={file.file} data-action={file.action}>
                <FileChange
                  change={
                    file.diff ?? {
                      file: file.file,
                      status: 'modified',
                      additions: 0,
                      deletions: 0
                    }
                  }
                  remark={fileOutcomeText(file, words)}
                />
                {file.action === 'conflict' && (
                  <TickBox
                    className="plm-Revert-overwrite"
                    isTicked={overwrittenFiles.includes(file.file)}
                    onTick={isTicked => {
                      const others = overwrittenFiles.filter(
                        name => name !== file.file
                      );
                      onOverwrite(isTicked ? [...others, file.file] : others);
                    }}
                  >
                    {words.__('Overwrite it all the same')}
                  </TickBox>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {preview.cells.length > 0 && (
        <>
          <p>{words._n('%1 cell:', '%1 cells:', preview.cells.length)}</p>
          <ul className="plm-Revert-messages">
            {preview.cells.map(cell => (
              <li key={`${cell.call}:${cell.index}`}>
                {cellOutcomeText(cell, words)}
              </li>
            ))}
          </ul>
        </>
      )}
      <p className="plm-Muted">
        {isFinal
          ? words.__(
              'Variables in the kernel stay as they are, and so do cells that you wrote. What is reverted is removed when the prompt is sent.'
            )
          : words.__(
              'Variables in the kernel stay as they are, and so do cells that you wrote. You can undo this until your next prompt.'
            )}
      </p>
    </>
  );
}

/** Returns the files that a revert changes, or should. */
export function changedFiles({ files }: RevertPreview): RevertedFile[] {
  return files.filter(({ action }) => action !== 'nothing');
}

/** Returns how many later turns a revert takes along. */
export function laterTurnCount({ messages }: RevertPreview): number {
  return Math.max(0, messages.filter(({ role }) => role === 'user').length - 1);
}

function cellOutcomeText(
  { change, note = '', problem }: RevertedCell,
  words: IWords
): string {
  if (problem !== '') {
    return problem;
  }
  const outcome = changeOutcomeText(change, words);
  return note === '' ? outcome : `${outcome}. ${note}`;
}

function changeOutcomeText(
  change: RevertedCell['change'],
  words: IWords
): string {
  const cell = cellName(change, words);
  switch (change.action) {
    case 'insert':
      return words.__('Brought back: %1', cell);
    case 'edit':
      return words.__('Former source: %1', cell);
    case 'move':
      return words.__('Moved back: %1', cell);
    case 'delete':
      return words.__('Deleted: %1', cell);
  }
}

function fileOutcomeText(
  { action, reason }: RevertedFile,
  words: IWords
): string {
  switch (action) {
    case 'restore':
      return words.__('is brought back');
    case 'delete':
      return words.__('is deleted');
    case 'conflict':
      return words.__('is left alone: %1', reason ?? '');
    case 'impossible':
      return words.__('can’t be brought back: %1', reason ?? '');
    case 'nothing':
      return '';
  }
}
