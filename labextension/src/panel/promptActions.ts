/**
 * Prompts sent, withdrawn and hurried, as commands to the kernel of the notebook in front.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ILink } from '../kernel/kernelLink';
import type { ICommandTarget } from '../notebook/rendering/linkActions';
import type { PromptAdmitted } from '../protocol/generated';
import type { IPromptActions } from '../views/actions/prompts';
import { chosenFor } from '../views/composer/drafts';
import type { PendingSwitches } from './pendingSwitches';

export function promptActions(
  target: ICommandTarget,
  switches: PendingSwitches,
  words: TranslationBundle,
  fail: (sentence: string) => void
): IPromptActions {
  const withdraw = async (prompt_id: string) => {
    const { link, session } = target;
    const outcome = await link?.outcome('withdraw', { session, prompt_id });
    target.report(outcome ?? {});
    return (
      outcome !== undefined && outcome.error === undefined && !outcome.late
    );
  };
  const sendNow = async (prompt: PromptAdmitted) => {
    const { link, session } = target;
    const { prompt_id, text } = prompt;
    if (!(await withdraw(prompt_id))) {
      return;
    }
    const fields = { ...chosenFor(prompt), session, text };
    const sent = await link?.outcome('steer', fields);
    if (sent?.error !== undefined) {
      fail(words.__('%1 It was not sent: “%2”', sent.error, text));
    }
  };
  return {
    send: async (text, chosen) => {
      const { link } = target;
      // Words that follow “New session” are meant for the new one.
      await switches.over;
      // So are words that follow a cell which went on with another session, before a frame drew it.
      link?.catchUp();
      const session = link?.store.getSnapshot().current ?? undefined;
      const before = newestRecord(link, session);
      const fields = { ...chosen, text, session };
      const outcome = await link?.outcome('prompt', fields);
      if (outcome?.error === undefined) {
        return;
      }
      target.report(outcome);
      // A prompt that was taken is in the transcript; only one that was not is given back.
      if (newestRecord(link, session) === before) {
        throw new Error(outcome.error);
      }
    },
    sendNow: prompt => {
      void sendNow(prompt);
    },
    withdraw,
    choices: async () =>
      (await target.link?.outcome('choices'))?.choices ?? null
  };
}

/** Returns the number of the newest record that is known of a session. */
function newestRecord(link: ILink | null, session: string | undefined): number {
  const known = link?.store.getSnapshot().sessions.get(session ?? '');
  return known?.transcript.seq ?? 0;
}
