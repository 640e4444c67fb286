/** Listing, creating, opening and managing sessions as commands to the active notebook's kernel. */
import type { ICommandTarget } from '../../notebook/rendering/linkActions';
import type {
  ISessionActions,
  ISessionOpener
} from '../../views/actions/sessions';
import type { PendingSwitches } from './pendingSwitches';

/** Switches to another session; prompts sent meanwhile go there too. */
function beginSwitch(
  outcome: Promise<{ error?: string }> | undefined,
  target: ICommandTarget,
  switches: PendingSwitches
): void {
  if (outcome !== undefined) {
    switches.add(outcome);
    void outcome.then(target.report);
  }
}

export function sessionOpener(
  target: ICommandTarget,
  switches: PendingSwitches
): ISessionOpener {
  return {
    open: session => {
      beginSwitch(target.link?.outcome('open', { session }), target, switches);
    }
  };
}

export function sessionActions(
  target: ICommandTarget,
  switches: PendingSwitches
): ISessionActions {
  const changeSession = async (
    command: 'title' | 'archive' | 'delete',
    fields: { session: string; title?: string; archived?: boolean }
  ) => {
    const outcome: { error?: string } =
      (await target.link?.outcome(command, fields)) ?? {};
    target.report(outcome);
    return outcome.error ?? '';
  };
  return {
    list: async query => {
      const outcome = await target.link?.outcome('sessions', { ...query });
      target.report(outcome ?? {});
      const { sessions: rows = [], total = 0, cursor } = outcome?.answer ?? {};
      return { rows, total, cursor };
    },
    create: () => {
      beginSwitch(target.link?.outcome('new'), target, switches);
    },
    fork: (session, message) => {
      const fields = message === undefined ? { session } : { session, message };
      beginSwitch(target.link?.outcome('fork', fields), target, switches);
    },
    branches: async session => {
      const outcome = await target.link?.outcome('branches', { session });
      return outcome?.answer?.branches ?? outcome?.error ?? '';
    },
    rename: (session, title) => changeSession('title', { session, title }),
    archive: (session, archived) =>
      changeSession('archive', { session, archived }),
    delete: session => changeSession('delete', { session })
  };
}
