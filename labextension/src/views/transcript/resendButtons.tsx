/** Buttons below a turn that send its prompt again: as it was, otherwise answered, or changed. */
import { useEffect, useState } from 'react';
import type { Choices, Message } from '../../protocol/generated';
import {
  useResendActions,
  type IResendActions,
  type IRetryChoice
} from '../actions/resends';
import { useRevertActions } from '../actions/reverts';
import { LinkButton } from '../controls/buttons';
import { modeName } from '../controls/permissionWords';
import { SelectField } from '../controls/fields';
import { useHost } from '../host';
import { RevertDialog } from './revertControls';
import { changedFiles, laterTurnCount } from './revertPreview';
import { unlessGone } from '../dom/effects';

interface IResendButtonsProps {
  /** The id of the turn's prompt. */
  turnId: string;
  prompt?: Message;
}

/** Draws the buttons; nothing in a read-only view. */
export function ResendButtons({ turnId, prompt }: IResendButtonsProps) {
  const { words } = useHost();
  const resends = useResendActions();
  return resends === null ? null : (
    <>
      <RetryControl turnId={turnId} resends={resends} />
      <LinkButton
        aria-label={words.__('Edit and resend')}
        title={words.__(
          'Change this prompt; this turn is reverted when it is sent'
        )}
        onClick={() => {
          resends.edit(turnId, prompt);
        }}
      >
        {words.__('Edit')}
      </LinkButton>
    </>
  );
}

/** Draws a button that sends the prompt at once, or first shows what is lost beside the turn's own answer. */
function RetryControl(props: { turnId: string; resends: IResendActions }) {
  const { turnId, resends } = props;
  const { Icon, words } = useHost();
  const reverts = useRevertActions();
  const [isOpen, setOpen] = useState(false);
  const [isWaiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState('');
  const [choice, setChoice] = useState<IRetryChoice>({});
  if (reverts === null) {
    return null;
  }
  const openDialog = (failure = '') => {
    setProblem(failure);
    setChoice({});
    setOpen(true);
  };
  const retry = async () => {
    const { revert } = await reverts.preview(turnId);
    if (
      revert === undefined ||
      laterTurnCount(revert) > 0 ||
      changedFiles(revert).length > 0
    ) {
      openDialog();
      return;
    }
    const failure = await resends.resend(turnId, [], {});
    if (failure !== '') {
      openDialog(failure);
    }
  };
  return (
    <span className="plm-Retry">
      <LinkButton
        aria-label={words.__('Retry this turn')}
        aria-disabled={isWaiting}
        title={words.__(
          'Send the same prompt again, in the place of this turn'
        )}
        onClick={() => {
          if (!isWaiting) {
            setWaiting(true);
            void retry().then(() => {
              setWaiting(false);
            });
          }
        }}
      >
        {words.__('Retry')}
      </LinkButton>
      {resends.choices !== undefined && (
        <LinkButton
          className="plm-Retry-with"
          aria-haspopup="dialog"
          aria-label={words.__('Retry with another model or mode…')}
          title={words.__('Retry with another model or mode…')}
          onClick={() => {
            openDialog();
          }}
        >
          <Icon name="unfold" />
        </LinkButton>
      )}
      {isOpen && (
        <RevertDialog
          turnId={turnId}
          actions={reverts}
          title={words.__('Retry this turn?')}
          verb={words.__('Retry')}
          isFinal
          failure={problem}
          carryOut={overwrite => resends.resend(turnId, overwrite, choice)}
          onClose={() => {
            setOpen(false);
          }}
        >
          {resends.choices !== undefined && (
            <RetryChoices
              loadChoices={resends.choices}
              choice={choice}
              onChoose={setChoice}
            />
          )}
        </RevertDialog>
      )}
    </span>
  );
}

/** Lets the user choose another model and another permission mode. */
function RetryChoices(props: {
  loadChoices: NonNullable<IResendActions['choices']>;
  choice: IRetryChoice;
  onChoose: (choice: IRetryChoice) => void;
}) {
  const { loadChoices, choice, onChoose } = props;
  const { words } = useHost();
  const [choices, setChoices] = useState<Choices | null>(null);
  useEffect(() => unlessGone(loadChoices(), setChoices), [loadChoices]);
  const choiceField = (
    name: keyof IRetryChoice,
    label: string,
    unchangedLabel: string,
    options: readonly (readonly [string, string])[]
  ) => (
    <label className="plm-Retry-choice">
      {label}
      <SelectField
        value={choice[name] ?? ''}
        choices={[['', unchangedLabel], ...options]}
        onChoose={value => {
          onChoose({ ...choice, [name]: value || undefined });
        }}
      />
    </label>
  );
  return (
    <div className="plm-Retry-choices">
      {choiceField(
        'model',
        words.__('Model'),
        words.__('the same as before'),
        (choices?.models ?? []).map(({ id }) => [id, id])
      )}
      {choiceField(
        'mode',
        words.__('Permission mode'),
        words.__('as it is now'),
        (choices?.modes ?? []).map(({ name }) => [name, modeName(name, words)])
      )}
    </div>
  );
}
