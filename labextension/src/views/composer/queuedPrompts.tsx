/** The prompts that wait for the running turn: one line above the composer, which opens to their list. */
import { useEffect } from 'react';
import type { PromptAdmitted } from '../../protocol/generated';
import { inSendingOrder, isReturned } from '../../state/session/queue';
import { isBusy } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { usePromptActions, type IPromptOptions } from '../actions/prompts';
import { LinkButton } from '../controls/buttons';
import { Disclosure } from '../controls/disclosure';
import { PromptText } from '../controls/promptText';
import { useHost } from '../host';
import { AttachmentChips } from './attachmentChips';
import { queuedPromptOptions, filesOf } from '../drafts/drafts';

interface IQueuedPromptsProps {
  transcript: ITranscript;
  readOnly: boolean;
  /** Puts a prompt that was taken back into the composer. */
  onEdit: (prompt: PromptAdmitted) => void;
  /** Puts what a stop withdrew into the composer. */
  onStopped: (text: string, chosen: IPromptOptions) => void;
}

/** Prompts that were given back, so that a panel that is opened again does not repeat them. */
const GIVEN_BACK = new WeakSet<PromptAdmitted>();

/** Draws the waiting prompts as a line that opens, and gives the prompts back that a stop withdrew. */
export function QueuedPrompts(props: IQueuedPromptsProps) {
  const { transcript, readOnly, onEdit, onStopped } = props;
  const { words } = useHost();
  const { inbox, stopped } = transcript;
  useEffect(() => {
    const returnedPrompts = stopped.filter(
      prompt => isReturned(prompt) && !GIVEN_BACK.has(prompt) && !readOnly
    );
    if (returnedPrompts.length > 0) {
      returnedPrompts.forEach(prompt => GIVEN_BACK.add(prompt));
      onStopped(
        returnedPrompts.map(({ text }) => text).join('\n\n'),
        mergedOptions(returnedPrompts)
      );
    }
  }, [stopped, readOnly, onStopped]);
  const prompts = inSendingOrder(inbox);
  const [nextPrompt] = prompts;
  if (nextPrompt === undefined) {
    return null;
  }
  const head = (
    <>
      <span className="plm-Strip-count">
        {words._n('1 waiting', '%1 waiting', prompts.length)}
      </span>
      {nextPrompt.delivery === 'steer' && (
        <span className="plm-Strip-count">
          {words.__('goes with the next request')}
        </span>
      )}
      <bdi className="plm-Strip-next">{nextPrompt.text}</bdi>
    </>
  );
  return (
    <Disclosure className="plm-Strip plm-Queue" head={head}>
      <ol className="plm-Queue-list">
        {prompts.map((prompt, index) => (
          <li key={prompt.prompt_id}>
            <QueuedPrompt
              prompt={prompt}
              number={index + 1}
              isTurnRunning={isBusy(transcript)}
              onEdit={onEdit}
            />
          </li>
        ))}
      </ol>
    </Disclosure>
  );
}

/** Draws a prompt that waits, with its actions. */
function QueuedPrompt(props: {
  prompt: PromptAdmitted;
  /** The prompt's number in the order of sending, from 1. */
  number: number;
  /** Whether a turn runs, which the prompt could join. */
  isTurnRunning: boolean;
  onEdit: IQueuedPromptsProps['onEdit'];
}) {
  const { prompt, number, isTurnRunning, onEdit } = props;
  const { words } = useHost();
  const actions = usePromptActions();
  const { prompt_id, text, delivery } = prompt;
  return (
    <div
      className="plm-QueuedPrompt"
      role="group"
      aria-label={words.__('Waiting prompt %1', number)}
    >
      <PromptText text={text} />
      <AttachmentChips files={filesOf(queuedPromptOptions(prompt))} />
      <p className="plm-TurnPrompt-source">
        {delivery === 'steer' && (
          <span>{words.__('goes with the next request')}</span>
        )}
        <LinkButton
          onClick={() => {
            void actions.withdraw(prompt_id).then(isWithdrawn => {
              if (isWithdrawn) {
                onEdit(prompt);
              }
            });
          }}
        >
          {words.__('edit')}
        </LinkButton>
        <LinkButton
          onClick={() => {
            void actions.withdraw(prompt_id);
          }}
        >
          {words.__('withdraw')}
        </LinkButton>
        {delivery === 'queue' && isTurnRunning && (
          <LinkButton
            onClick={() => {
              actions.sendNow(prompt);
            }}
          >
            {words.__('send now')}
          </LinkButton>
        )}
      </p>
    </div>
  );
}

/** Returns the options of several prompts that become one: the newest choice of each, and all files. */
function mergedOptions(prompts: readonly PromptAdmitted[]): IPromptOptions {
  return prompts
    .map(queuedPromptOptions)
    .reduce<IPromptOptions>((merged, options) => {
      const files = [...filesOf(merged), ...filesOf(options)];
      return { ...merged, ...options, ...(files.length > 0 ? { files } : {}) };
    }, {});
}
