/**
 * Prompts that are queued until the running turn has ended.
 */
import type { PromptAdmitted } from '../../protocol/generated';
import { useHost } from '../host';
import { PromptText } from '../controls/promptText';
import { AttachmentChips } from './attachmentChips';
import { chosenFor, filesOf } from './drafts';
import { usePromptActions } from '../actions/prompts';

interface IQueuedPromptsProps {
  prompts: readonly PromptAdmitted[];
  /** Whether a turn runs, which a prompt could join. */
  running: boolean;
  /** Puts a withdrawn prompt into the composer. */
  onEdit: (prompt: PromptAdmitted) => void;
}

/** Draws the queued prompts with their actions. */
export function QueuedPrompts({
  prompts,
  running,
  onEdit
}: IQueuedPromptsProps) {
  const { words } = useHost();
  const actions = usePromptActions();
  return prompts.map(prompt => {
    const { prompt_id, text, delivery } = prompt;
    return (
      <div
        key={prompt_id}
        className="plm-TurnPrompt plm-QueuedPrompt"
        role="group"
        aria-label={words.__('Waiting prompt')}
      >
        <p className="plm-TurnPrompt-source">
          <span>
            {delivery === 'steer'
              ? words.__('goes with the next request')
              : words.__('queued')}
          </span>
          <button
            type="button"
            className="plm-Link"
            onClick={() => {
              void actions.withdraw(prompt_id).then(taken => {
                if (taken) {
                  onEdit(prompt);
                }
              });
            }}
          >
            {words.__('edit')}
          </button>
          <button
            type="button"
            className="plm-Link"
            onClick={() => {
              void actions.withdraw(prompt_id);
            }}
          >
            {words.__('withdraw')}
          </button>
          {delivery === 'queue' && running && (
            <button
              type="button"
              className="plm-Link"
              onClick={() => {
                actions.sendNow(prompt);
              }}
            >
              {words.__('send now')}
            </button>
          )}
        </p>
        <PromptText text={text} />
        <AttachmentChips files={filesOf(chosenFor(prompt))} />
      </div>
    );
  });
}
