/** Permission mode, approvals and trust as commands to the active notebook's kernel. */
import type { ICommandTarget } from '../../notebook/rendering/linkActions';
import type { IPermissionActions } from '../../views/actions/permissions';

export function permissionActions(target: ICommandTarget): IPermissionActions {
  const requestApprovals = async (revoke?: readonly number[]) => {
    const { link, session } = target;
    const outcome = await link?.outcome('approvals', {
      session,
      revoke: revoke && [...revoke]
    });
    target.report(outcome ?? {});
    return outcome?.answer?.approvals ?? [];
  };
  return {
    setMode: mode => {
      const { link, session } = target;
      void link?.outcome('mode', { session, mode }).then(target.report);
    },
    approvals: () => requestApprovals(),
    revoke: numbers => requestApprovals(numbers),
    trustProject: async () => {
      target.report((await target.link?.outcome('trust')) ?? {});
    }
  };
}
