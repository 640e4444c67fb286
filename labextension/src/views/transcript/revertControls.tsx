/**
 * Reverts: a button on each prompt, a preview, and a way to undo it.
 */
import { useEffect, useId, useRef, useState } from 'react';
import type { RevertedFile, RevertPreview } from '../../protocol/generated';
import type { IRevertedMessages } from '../../state/session/reverts';
import { useRevertActions, type IRevertActions } from '../actions/reverts';
import { FileChange } from '../parts/fileChanges';
import { useHost, type IWords } from '../host';

/** Draws the button of a prompt; nothing in a read-only view. */
export function RevertButton({ target }: { target: string }) {
  const { words } = useHost();
  const actions = useRevertActions();
  const [open, setOpen] = useState(false);
  if (actions === null) {
    return null;
  }
  return (
    <>
      <button
        type="button"
        className="plm-Link plm-RevertButton"
        aria-label={words.__('Revert to here…')}
        title={words.__(
          'Revert this prompt and all that follows, with the files that changed'
        )}
        onClick={() => {
          setOpen(true);
        }}
      >
        {words.__('Revert')}
      </button>
      {open && (
        <RevertDialog
          target={target}
          actions={actions}
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </>
  );
}

interface IRevertDialogProps {
  target: string;
  actions: IRevertActions;
  onClose: () => void;
}

function RevertDialog({ target, actions, onClose }: IRevertDialogProps) {
  const { words } = useHost();
  const place = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [preview, setPreview] = useState<RevertPreview | null>(null);
  const [problem, setProblem] = useState('');
  const [overwrite, setOverwrite] = useState<readonly string[]>([]);
  const [waits, setWaits] = useState(false);
  useEffect(() => {
    const node = place.current;
    // An older browser draws it in place; elsewhere it is a modal dialog.
    if (typeof node?.showModal === 'function') {
      node.showModal();
    } else {
      node?.setAttribute('open', '');
    }
  }, []);
  useEffect(() => {
    let gone = false;
    void actions.preview(target).then(outcome => {
      if (!gone) {
        setPreview(outcome.revert ?? null);
        setProblem(outcome.error ?? '');
      }
    });
    return () => {
      gone = true;
    };
  }, [actions, target]);
  const take = async () => {
    setWaits(true);
    const { error } = await actions.revert(target, overwrite);
    setWaits(false);
    if (error === undefined) {
      onClose();
    } else {
      setProblem(error);
    }
  };
  return (
    <dialog
      ref={place}
      className="plm-Revert"
      aria-labelledby={title}
      onClose={onClose}
      // Escape and the notebook's keys must not reach the page below.
      onKeyDown={event => {
        event.stopPropagation();
      }}
    >
      <h2 id={title}>{words.__('Revert to here?')}</h2>
      {preview === null && problem === '' && (
        <p className="plm-Muted">{words.__('Looking at the files…')}</p>
      )}
      {preview !== null && (
        <Preview
          preview={preview}
          overwrite={overwrite}
          onOverwrite={setOverwrite}
        />
      )}
      {problem !== '' && (
        <p className="plm-Revert-problem" role="alert">
          {problem}
        </p>
      )}
      <div className="plm-Revert-buttons">
        <button
          type="button"
          className="plm-Button"
          data-main=""
          disabled={preview === null || waits}
          onClick={() => {
            void take();
          }}
        >
          {words.__('Revert')}
        </button>
        <button type="button" className="plm-Button" onClick={onClose}>
          {words.__('Cancel')}
        </button>
      </div>
    </dialog>
  );
}

interface IPreviewProps {
  preview: RevertPreview;
  overwrite: readonly string[];
  onOverwrite: (files: readonly string[]) => void;
}

/** The maximum number of named messages; the rest is counted. */
const MOST = 6;

function Preview({ preview, overwrite, onOverwrite }: IPreviewProps) {
  const { words } = useHost();
  const { messages, problem } = preview;
  const files = preview.files.filter(({ action }) => action !== 'nothing');
  return (
    <>
      <p>
        {words._n(
          '%1 message is reverted:',
          '%1 messages are reverted:',
          messages.length,
          messages.length
        )}
      </p>
      <ul className="plm-Revert-messages">
        {messages.slice(0, MOST).map(({ id, role, excerpt }) => (
          <li key={id} data-role={role}>
            <span className="plm-Hidden">
              {role === 'user' ? words.__('You:') : words.__('The agent:')}{' '}
            </span>
            {excerpt === '' ? words.__('(no words)') : excerpt}
          </li>
        ))}
        {messages.length > MOST && (
          <li className="plm-Muted">
            {words.__('and %1 more', messages.length - MOST)}
          </li>
        )}
      </ul>
      {problem !== undefined && <p className="plm-Muted">{problem}</p>}
      {files.length > 0 && (
        <>
          <p>{words._n('%1 file:', '%1 files:', files.length, files.length)}</p>
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
                  says={becomes(file, words)}
                />
                {file.action === 'conflict' && (
                  <label className="plm-Revert-overwrite">
                    <input
                      type="checkbox"
                      checked={overwrite.includes(file.file)}
                      onChange={({ target }) => {
                        const others = overwrite.filter(
                          one => one !== file.file
                        );
                        onOverwrite(
                          target.checked ? [...others, file.file] : others
                        );
                      }}
                    />
                    {words.__('Overwrite it all the same')}
                  </label>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      <p className="plm-Muted">
        {words.__(
          'Variables in the kernel and cells of the notebook stay as they are. You can undo this until your next prompt.'
        )}
      </p>
    </>
  );
}

function becomes({ action, reason }: RevertedFile, words: IWords): string {
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

/** Draws a banner about reverted messages, with the possible actions. */
export function RevertBanner({ taken }: { taken: IRevertedMessages }) {
  const { words } = useHost();
  const actions = useRevertActions();
  const [problem, setProblem] = useState('');
  const act = (action: 'unrevert' | 'cleanup') => () => {
    void actions?.[action]().then(({ error }) => {
      setProblem(error ?? '');
    });
  };
  const { kept, messages } = taken;
  return (
    <div className="plm-RevertBanner" role="status">
      <p>
        {words._n(
          '%1 message reverted.',
          '%1 messages reverted.',
          messages.size,
          messages.size
        )}{' '}
        {kept.length > 0 &&
          words.__(
            'Left alone, since somebody else changed them: %1.',
            kept.join(', ')
          )}{' '}
        <span className="plm-Muted">
          {words.__('Your next prompt removes them.')}
        </span>
      </p>
      {actions !== null && (
        <span className="plm-RevertBanner-buttons">
          <button
            type="button"
            className="plm-Button plm-Button-small"
            onClick={act('unrevert')}
          >
            {words.__('Undo')}
          </button>
          <button
            type="button"
            className="plm-Button plm-Button-small"
            onClick={act('cleanup')}
          >
            {words.__('Remove for good')}
          </button>
        </span>
      )}
      {problem !== '' && (
        <p className="plm-Revert-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
