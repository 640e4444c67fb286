/** Sending, withdrawing and steering prompts as commands to the active notebook's kernel. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { NO_ANSWER, type ILink, type IOutcome } from '../../kernel/kernelLink';
import {
  revertActions,
  type ICommandTarget
} from '../../notebook/rendering/linkActions';
import type { Command, PromptAdmitted } from '../../protocol/generated';
import type { IPromptActions } from '../../views/actions/prompts';
import { chosenFor } from '../../views/drafts/drafts';
import type { PendingSwitches } from './pendingSwitches';

export function promptActions(
  target: ICommandTarget,
  switches: PendingSwitches,
  translation: TranslationBundle,
  setFailure: (sentence: string | null) => void
): IPromptActions {
  const withdraw = async (prompt_id: string) => {
    const { link, session } = target;
    const outcome = await link?.outcome('withdraw', { session, prompt_id });
    target.report(outcome ?? {});
    return outcome?.answer?.late === false;
  };
  const reverts = revertActions(target);
  const sendNow = async (prompt: PromptAdmitted) => {
    const { link, session } = target;
    const { prompt_id, text } = prompt;
    if (!(await withdraw(prompt_id))) {
      return;
    }
    const fields = { ...chosenFor(prompt), session, text };
    const outcome = await link?.outcome('steer', fields);
    if (outcome?.error !== undefined) {
      setFailure(
        translation.__('%1 It was not sent: “%2”', outcome.error, text)
      );
    }
  };
  const send: IPromptActions['send'] = async (text, options) => {
    const { link } = target;
    // Clear the problem shown for the previous prompt.
    setFailure(null);
    // A prompt sent right after “New session” belongs to the new session.
    await switches.completion;
    // The same holds after a cell that switched the session, before a frame was drawn.
    link?.catchUp();
    const session = link?.store.getSnapshot().current ?? undefined;
    const seqBefore = newestRecordSeq(link, session);
    const fields = { ...options, text, session };
    // Without a link nothing was sent, so the prompt returns to the composer.
    const outcome: IOutcome<'prompt'> = (await link?.outcome(
      'prompt',
      fields
    )) ?? { error: NO_ANSWER };
    if (outcome.error === undefined) {
      return outcome.typed ?? null;
    }
    target.report(outcome);
    // An accepted prompt is in the transcript; only one that was not accepted returns to the composer.
    if (newestRecordSeq(link, session) === seqBefore) {
      throw new Error(outcome.error);
    }
    return null;
  };
  return {
    send,
    replace: async ({ turn, overwrite }, text, options) => {
      const { session } = target;
      const { error } = await reverts.revert(turn, overwrite);
      const problem =
        error ??
        (target.session === session
          ? ''
          : translation.__('Another session was chosen; nothing was sent.'));
      if (problem !== '') {
        setFailure(problem);
        throw new Error(problem);
      }
      return send(text, options);
    },
    sendNow: prompt => {
      void sendNow(prompt);
    },
    withdraw,
    choices: async () =>
      (await target.link?.outcome('choices'))?.answer ?? null,
    operations: async () =>
      (await target.link?.outcome('buttons'))?.answer ?? null,
    commandArguments: async text => {
      const fields = { session: target.session, text };
      const outcome = await target.link?.outcome('arguments', fields);
      return outcome?.answer?.words ?? [];
    },
    operate: async button => {
      const { link, session } = target;
      const fields = { ...button.arguments, session };
      const type = button.command as Command['type'];
      const outcome = await link?.outcome(type, fields);
      return outcome?.words ?? (outcome ? (outcome.error ?? '') : NO_ANSWER);
    },
    history: async cursor => {
      const fields = { session: target.session, cursor };
      const outcome = await target.link?.outcome('prompt-history', fields);
      return outcome?.answer ?? null;
    },
    mentions: async (query, agent) => {
      const fields = { session: target.session, query, agent };
      return (await target.link?.outcome('mentions', fields))?.answer ?? null;
    },
    attach: async (file, model) => {
      const { link, session } = target;
      const fields = { session, file, model: model === '' ? undefined : model };
      const outcome = await link?.outcome('attach', fields);
      return outcome?.answer ?? outcome?.error ?? NO_ANSWER;
    },
    previews: async (text, agent) => {
      const fields = { session: target.session, text, agent };
      const outcome = await target.link?.outcome('mention-preview', fields);
      return outcome?.answer?.previews ?? [];
    }
  };
}

/** Returns the sequence number of the newest known record of a session. */
function newestRecordSeq(
  link: ILink | null,
  session: string | undefined
): number {
  const sessionView = link?.store.getSnapshot().sessions.get(session ?? '');
  return sessionView?.transcript.seq ?? 0;
}
