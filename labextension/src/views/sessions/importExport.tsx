/** Dialogs that export a session to a file, and import sessions from files. */
import { useState } from 'react';
import type { ExportedFile, Imported } from '../../protocol/generated';
import { fileSizeText } from '../../state/text/numberFormat';
import {
  useSharingActions,
  type ExportFormat,
  type IImportProgress,
  type IImportResult
} from '../actions/sharing';
import { OutlinedButton } from '../controls/buttons';
import { useHost, type IWords } from '../host';
import { onEscape, useFirstFocus } from '../dom/effects';

interface IExportDialogProps {
  session: string;
  onBack: () => void;
}

/** Lets the user choose a format, and shows where the file is. */
export function ExportDialog({ session, onBack }: IExportDialogProps) {
  const { words } = useHost();
  const sharing = useSharingActions();
  const [result, setResult] = useState('');
  const [isBusy, setBusy] = useState(false);
  const firstButtonRef = useFirstFocus<HTMLButtonElement>();
  const formats: readonly [ExportFormat, string][] = [
    ['ipynb', words.__('Notebook')],
    ['md', words.__('Markdown')],
    ['html', words.__('Web page')],
    ['json', words.__('JSON')]
  ];
  const exportAs = async (format: ExportFormat) => {
    setBusy(true);
    const { error, file } = await sharing.export(session, format);
    setBusy(false);
    setResult(error ?? (file === undefined ? '' : writtenText(file, words)));
  };
  return (
    <div
      role="group"
      className="plm-Sessions-deleting"
      aria-label={words.__('Export')}
    >
      <p>
        {words.__(
          'Write a copy of this session beside the notebook, without the keys. JSON can be imported into another project.'
        )}
      </p>
      {formats.map(([format, name], index) => (
        <button
          type="button"
          key={format}
          ref={index === 0 ? firstButtonRef : null}
          className="plm-Button"
          aria-disabled={isBusy}
          onClick={() => {
            if (!isBusy) {
              void exportAs(format);
            }
          }}
        >
          {name}
        </button>
      ))}
      <OutlinedButton onClick={onBack}>{words.__('Close')}</OutlinedButton>
      <p className="plm-Sessions-said" role="status">
        {isBusy ? words.__('A moment…') : result}
      </p>
    </div>
  );
}

function writtenText({ shown, bytes }: ExportedFile, words: IWords): string {
  return words.__('Written to %1 (%2).', shown, fileSizeText(bytes));
}

interface IImportDialogProps {
  onBack: () => void;
  /** Called when the list of sessions has changed. */
  onChanged: () => void;
}

/** Lets the user enter a file's path, and shows what was imported. */
export function ImportDialog({ onBack, onChanged }: IImportDialogProps) {
  const { words } = useHost();
  const sharing = useSharingActions();
  const [path, setPath] = useState('');
  const [importResult, setImportResult] = useState<IImportResult | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [progress, setProgress] = useState<IImportProgress | null>(null);
  const fieldRef = useFirstFocus<HTMLInputElement>();
  const runImport = async () => {
    setBusy(true);
    setImportResult(null);
    const outcome = await sharing.import(path.trim(), setProgress);
    setBusy(false);
    setProgress(null);
    setImportResult(outcome);
    onChanged();
  };
  return (
    <form
      className="plm-Sessions-importing"
      aria-label={words.__('Import')}
      onSubmit={event => {
        event.preventDefault();
        if (path.trim() !== '' && !isBusy) {
          void runImport();
        }
      }}
      onKeyDown={onEscape(onBack)}
    >
      <p className="plm-Muted">
        {words.__(
          'A recording of another agent, an exported session, or a folder of them, inside this project. Nothing of it is run.'
        )}
      </p>
      <input
        ref={fieldRef}
        className="plm-Field"
        aria-label={words.__('Path of the file or folder')}
        placeholder={words.__('Path, such as session.json')}
        maxLength={1000}
        value={path}
        onChange={event => {
          setPath(event.target.value);
        }}
      />
      <button
        type="submit"
        className="plm-Button"
        data-main
        disabled={path.trim() === ''}
        aria-disabled={isBusy}
      >
        {words.__('Import')}
      </button>
      <OutlinedButton onClick={onBack}>{words.__('Close')}</OutlinedButton>
      {progress !== null && (
        <ImportProgress
          progress={progress}
          onStop={() => {
            void sharing.stopImport(progress.id);
          }}
        />
      )}
      <div className="plm-Sessions-said" role="status">
        {isBusy
          ? words.__('A moment…')
          : importResult && <ImportResult importResult={importResult} />}
      </div>
    </form>
  );
}

/** Shows how far an import is, with a button that stops it. */
function ImportProgress(props: {
  progress: IImportProgress;
  onStop: () => void;
}) {
  const { progress, onStop } = props;
  const { words } = useHost();
  const { bytes, total } = progress;
  return (
    <div className="plm-Sessions-progress">
      <progress
        aria-label={words.__('How far the import is')}
        max={total > 0 ? total : undefined}
        value={total > 0 ? Math.min(bytes, total) : undefined}
      />
      {total > 0 && (
        <span>
          {words.__(
            '%1 of %2, %3%',
            fileSizeText(Math.min(bytes, total)),
            fileSizeText(total),
            Math.floor((100 * Math.min(bytes, total)) / total)
          )}
        </span>
      )}
      <OutlinedButton onClick={onStop}>{words.__('Stop')}</OutlinedButton>
    </div>
  );
}

/** The maximum number of unreadable items shown; the magic shows all. */
const MAX_PROBLEMS = 3;

function ImportResult({ importResult }: { importResult: IImportResult }) {
  const { words } = useHost();
  const { error, imported = [], unreadable = [] } = importResult;
  if (error !== undefined) {
    return <p>{error}</p>;
  }
  const unshownCount = unreadable.length - MAX_PROBLEMS;
  return (
    <>
      <p>{importedText(imported, words)}</p>
      {unreadable.slice(0, MAX_PROBLEMS).map(({ where, what }) => (
        <p key={where}>{words.__('Not read: %1. %2', where, what)}</p>
      ))}
      {unshownCount > 0 && (
        <p>
          {words._n(
            '%1 more could not be read.',
            '%1 more could not be read.',
            unshownCount
          )}
        </p>
      )}
    </>
  );
}

/** Returns the text about how many sessions were imported in which way. */
function importedText(imported: readonly Imported[], words: IWords): string {
  if (imported.length === 0) {
    return words.__('No session was found there.');
  }
  const countOf = (outcomeName: Imported['outcome']) =>
    imported.filter(({ outcome }) => outcome === outcomeName).length;
  const counts: readonly [number, string][] = [
    [countOf('new'), words.__('new')],
    [countOf('updated'), words.__('updated')],
    [countOf('copy'), words.__('as a copy, since the one here is another')],
    [countOf('same'), words.__('here already')]
  ];
  const phrases = counts
    .filter(([number]) => number > 0)
    .map(([number, way]) => `${number} ${way}`);
  return words.__('Imported: %1.', phrases.join(', '));
}
