/** Reverts: a button on each prompt, a preview, and a way to undo it. */
import { useEffect, useState, type ReactNode } from 'react';
import type { RevertPreview } from '../../protocol/generated';
import type { IRevertedMessages } from '../../state/session/reverts';
import { useRevertActions, type IRevertActions } from '../actions/reverts';
import { LinkButton, OutlinedButton, SmallButton } from '../controls/buttons';
import { ProblemText } from '../controls/problemText';
import { useHost } from '../host';
import { Preview } from './revertPreview';
import { unlessGone } from '../dom/effects';
import { ModalDialog } from '../controls/modalDialog';

/** Draws the button of a prompt; nothing in a read-only view. */
export function RevertButton({ turnId }: { turnId: string }) {
  const { words } = useHost();
  const actions = useRevertActions();
  const [isOpen, setOpen] = useState(false);
  if (actions === null) {
    return null;
  }
  return (
    <>
      <LinkButton
        className="plm-RevertButton"
        aria-label={words.__('Revert to here…')}
        title={words.__(
          'Revert this prompt and all that follows, with the files that changed'
        )}
        onClick={() => {
          setOpen(true);
        }}
      >
        {words.__('Revert')}
      </LinkButton>
      {isOpen && (
        <RevertDialog
          turnId={turnId}
          actions={actions}
          title={words.__('Revert to here?')}
          verb={words.__('Revert')}
          carryOut={async overwrite =>
            (await actions.revert(turnId, overwrite)).error ?? ''
          }
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </>
  );
}

interface IRevertDialogProps {
  turnId: string;
  actions: Pick<IRevertActions, 'preview'>;
  title: string;
  /** The label of the button that carries it out. */
  verb: string;
  /** Whether a prompt follows at once. */
  isFinal?: boolean;
  /** The error of the attempt before, if any. */
  failure?: string;
  /** Reverts, with the files to overwrite; resolves to the error, or to an empty string. */
  carryOut: (overwrite: readonly string[]) => Promise<string>;
  onClose: () => void;
  /** Fields with further choices. */
  children?: ReactNode;
}

/** Draws what a revert would do, and a button that carries it out. */
export function RevertDialog({
  turnId,
  actions,
  title,
  verb,
  isFinal = false,
  failure = '',
  carryOut,
  onClose,
  children
}: IRevertDialogProps) {
  const { words } = useHost();
  const [preview, setPreview] = useState<RevertPreview | null>(null);
  const [problem, setProblem] = useState(failure);
  const [overwrittenFiles, setOverwrittenFiles] = useState<readonly string[]>(
    []
  );
  const [isWaiting, setWaiting] = useState(false);
  useEffect(() => {
    return unlessGone(actions.preview(turnId), outcome => {
      setPreview(outcome.revert ?? null);
      setProblem(before => outcome.error ?? before);
    });
  }, [actions, turnId]);
  const applyRevert = async () => {
    setWaiting(true);
    const error = await carryOut(overwrittenFiles);
    setWaiting(false);
    setProblem(error);
    if (error === '') {
      onClose();
    }
  };
  return (
    <ModalDialog className="plm-Revert" title={title} onClose={onClose}>
      {children}
      {preview === null && problem === '' && (
        <p className="plm-Muted">{words.__('Looking at the files…')}</p>
      )}
      {preview !== null && (
        <Preview
          preview={preview}
          isFinal={isFinal}
          overwrittenFiles={overwrittenFiles}
          onOverwrite={setOverwrittenFiles}
        />
      )}
      <ProblemText className="plm-Revert-problem" text={problem} />
      <div className="plm-Revert-buttons">
        <OutlinedButton
          data-main=""
          disabled={preview === null || isWaiting}
          onClick={() => {
            void applyRevert();
          }}
        >
          {verb}
        </OutlinedButton>
        <OutlinedButton onClick={onClose}>{words.__('Cancel')}</OutlinedButton>
      </div>
    </ModalDialog>
  );
}

/** Draws a banner about reverted messages, with the possible actions. */
export function RevertBanner({ reverted }: { reverted: IRevertedMessages }) {
  const { words } = useHost();
  const actions = useRevertActions();
  const [problem, setProblem] = useState('');
  const actionHandler = (action: 'unrevert' | 'cleanup') => () => {
    void actions?.[action]().then(({ error }) => {
      setProblem(error ?? '');
    });
  };
  const { unchangedFiles: kept, messageIds: messages } = reverted;
  return (
    <div className="plm-RevertBanner" role="status">
      <p>
        {words._n(
          '%1 message reverted.',
          '%1 messages reverted.',
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
          <SmallButton onClick={actionHandler('unrevert')}>
            {words.__('Undo')}
          </SmallButton>
          <SmallButton onClick={actionHandler('cleanup')}>
            {words.__('Remove for good')}
          </SmallButton>
        </span>
      )}
      <ProblemText className="plm-Revert-problem" text={problem} />
    </div>
  );
}
