/** Creates and deletes a session's share page. */
import { useState } from 'react';
import type { ExportedFile } from '../../protocol/generated';
import { useSharingActions } from '../actions/sharing';
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { useFirstFocus } from '../dom/effects';

interface ISharePageProps {
  session: string;
  isShared: boolean;
  onBack: () => void;
  /** Called when the list of sessions has changed. */
  onChanged: () => void;
}

/** Explains what a share page is, creates it, and shows where it is. */
export function SharePage(props: ISharePageProps) {
  const { session, isShared, onBack, onChanged } = props;
  const { words } = useHost();
  const sharing = useSharingActions();
  const [file, setFile] = useState<ExportedFile | null>(null);
  const [result, setResult] = useState('');
  const [isBusy, setBusy] = useState(false);
  const firstButtonRef = useFirstFocus<HTMLButtonElement>();
  const createPage = async () => {
    setBusy(true);
    const outcome = await sharing.share(session);
    setBusy(false);
    setFile(outcome.file ?? null);
    setResult(outcome.error ?? '');
    onChanged();
  };
  const unshare = async () => {
    setBusy(true);
    const { error, late } = await sharing.unshare(session);
    setBusy(false);
    setFile(null);
    setResult(
      error ??
        (late
          ? words.__('There was no page.')
          : words.__('The page is deleted. Copies stay where they are.'))
    );
    onChanged();
  };
  return (
    <div
      role="group"
      className="plm-Sessions-deleting"
      aria-label={words.__('Share')}
    >
      {file === null ? (
        <p>
          {words.__(
            'Make one page of this session that anybody can read. Keys and home folders are taken out of it; look through it before you pass it on.'
          )}
        </p>
      ) : (
        <p>
          {words.__('The page is %1.', file.shown)}{' '}
          {file.content === undefined &&
            words.__(
              'It is too large to be sent here: %agent export html writes a copy beside the notebook.'
            )}
        </p>
      )}
      <p className="plm-Muted" role="status">
        {isBusy ? words.__('A moment…') : result}
      </p>
      {file === null ? (
        <button
          type="button"
          ref={firstButtonRef}
          className="plm-Button"
          data-main
          disabled={isBusy}
          onClick={() => void createPage()}
        >
          {isShared ? words.__('Make it again') : words.__('Make the page')}
        </button>
      ) : (
        <SaveButton file={file} />
      )}
      {(isShared || file !== null) && (
        <OutlinedButton disabled={isBusy} onClick={() => void unshare()}>
          {words.__('Delete the page')}
        </OutlinedButton>
      )}
      <OutlinedButton onClick={onBack}>{words.__('Close')}</OutlinedButton>
    </div>
  );
}

/**
 * Lets the browser save the page. It is in a hidden folder, which the server does not serve; and it is
 * saved, not opened, since an opened page would count as a part of Jupyter.
 */
function SaveButton({ file }: { file: ExportedFile }) {
  const { words } = useHost();
  const buttonRef = useFirstFocus<HTMLButtonElement>();
  const { content } = file;
  return content === undefined ? null : (
    <button
      type="button"
      ref={buttonRef}
      className="plm-Button"
      data-main
      onClick={() => {
        saveAsFile(content);
      }}
    >
      {words.__('Save a copy')}
    </button>
  );
}

/** Milliseconds after which the browser has read the data it saves. */
const MAX_SAVE_MS = 10_000;

function saveAsFile(content: string): void {
  const blob = new Blob([content], { type: 'application/octet-stream' });
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  // Not its secret name, which stays with the page.
  link.download = 'session.html';
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(url);
  }, MAX_SAVE_MS);
}
