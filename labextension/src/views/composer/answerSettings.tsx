/** The agent, mode and model that will answer, as a row of choices. */
import { useEffect, useState } from 'react';
import type { Choices, SessionInfo } from '../../protocol/generated';
import { usePromptActions, type IPromptOptions } from '../actions/prompts';
import { Picker } from '../controls/picker';
import { useHost } from '../host';
import type { IDrafts } from '../drafts/drafts';
import { PermissionMode, TrustPrompt } from './permissionMode';
import { unlessGone } from '../dom/effects';

interface IAnswerSettingsProps {
  choices: Choices | null;
  drafts: IDrafts;
  /** Called when the user trusted the project. */
  onTrusted: () => void;
  readOnly: boolean;
  session?: SessionInfo;
  isStepMode: boolean;
}

/** Returns the choices, requested again when the key changes, and a function that requests them. */
export function useChoices(key: string): [Choices | null, () => void] {
  const prompts = usePromptActions();
  const [choices, setChoices] = useState<Choices | null>(null);
  const [requestCount, setRequestCount] = useState(0);
  useEffect(
    () => unlessGone(prompts.choices(), setChoices),
    [prompts, key, requestCount]
  );
  return [
    choices,
    () => {
      setRequestCount(requestCount + 1);
    }
  ];
}

/** Draws the agent and model that will answer, and lets the user choose others. */
export function AnswerSettings(props: IAnswerSettingsProps) {
  const { choices, drafts, onTrusted, readOnly, session, isStepMode } = props;
  const { words } = useHost();
  if (readOnly) {
    return null;
  }
  const { chosen: chosenOptions } = drafts.draft;
  return (
    <>
      <TrustPrompt untrusted={choices?.untrusted ?? []} onTrusted={onTrusted} />
      <span className="plm-Composer-chips">
        <Picker
          label={words.__('Agent')}
          prefix={words.__('agent:')}
          value={chosenOptions.agent ?? session?.agent ?? choices?.agent ?? ''}
          options={(choices?.agents ?? []).map(({ name, description }) => ({
            value: name,
            about: description
          }))}
          onChoose={agent => {
            drafts.chooseOptions({ ...chosenOptions, agent });
          }}
        />
        <PermissionMode
          session={session}
          choices={choices}
          isStepMode={isStepMode}
        />
        <Picker
          label={words.__('Model')}
          value={modelIdOf(chosenOptions, session, choices)}
          options={(choices?.models ?? []).map(({ id, window, because }) => ({
            value: id,
            about: /^\d/.test(window)
              ? words.__('%1 tokens · %2', window, because)
              : words.__('%1 · %2', window, because)
          }))}
          acceptsOthers
          onChoose={name => {
            drafts.chooseOptions({ ...chosenOptions, model: name });
          }}
        />
      </span>
    </>
  );
}

/** Returns the id of the model that would answer; empty while it is not known. */
export function modelIdOf(
  options: IPromptOptions,
  session: SessionInfo | undefined,
  choices: Choices | null
): string {
  const { model } = session ?? {};
  return (
    options.model ??
    (model && `${model.provider}/${model.name}`) ??
    choices?.model ??
    ''
  );
}
