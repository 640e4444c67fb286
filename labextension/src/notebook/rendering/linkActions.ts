/** A user's actions in one session as commands to its kernel; shared by cell and panel. */
import type { ILink } from '../../kernel/kernelLink';
import type { CellDecision } from '../../protocol/generated';
import type { IReviewedChange } from '../../state/review/cellReview';
import { pendingDecisions, replyOf } from '../../state/review/pendingDecisions';
import type { IAnswerActions } from '../../views/actions/answers';
import type {
  ICellReviewActions,
  IChangeVerdict
} from '../../views/actions/cells';
import type {
  ICompactionActions,
  IContextEditor
} from '../../views/actions/contextEdits';
import type { IHeldRequestActions } from '../../views/actions/heldRequests';
import type { IPictureLoader } from '../../views/actions/pictures';
import type { IRevertActions } from '../../views/actions/reverts';
import type { ITurnActions } from '../../views/actions/turn';

/** The destination of commands, and the receiver of their outcomes. */
export interface ICommandTarget {
  /** The link of the active notebook at that moment; null when there is none. */
  readonly link: ILink | null;
  /** The session that is shown, so that a command never goes to another one. */
  readonly session: string | undefined;
  /** Reports an outcome that is an error. */
  readonly report: (outcome: { error?: string }) => void;
}

export function answerActions(target: ICommandTarget): IAnswerActions {
  return {
    reply: (ask_id, answer, feedback, scope) => {
      const { session } = target;
      // What was said of single changes before stays said.
      const cells = [...pendingDecisions.of(ask_id).values()];
      void target.link
        ?.outcome('reply', {
          session,
          ask_id,
          answer,
          feedback,
          scope,
          ...(answer === 'once' && cells.length > 0 ? { cells } : {})
        })
        .then(target.report);
      pendingDecisions.forget(ask_id);
    },
    answer: (question_id, answers) => {
      const { session } = target;
      void target.link
        ?.outcome('answer', {
          session,
          question_id,
          answers: answers ?? undefined
        })
        .then(target.report);
    }
  };
}

export function cellReviewActions(
  target: ICommandTarget
): Pick<ICellReviewActions, 'decide' | 'takeBack'> {
  return {
    decide: async (changes, verdict) => {
      const { session } = target;
      const problems: string[] = [];
      for (const ofCall of changesByCall(changes, verdict)) {
        const [{ ask, call, count } = { call: '', count: 0 }] = ofCall;
        const decisions = ofCall.map(change => decisionOf(change, verdict));
        if (ask === undefined) {
          const outcome = await target.link?.outcome('review-cells', {
            session,
            call,
            decisions
          });
          problems.push(
            outcome?.error ?? '',
            ...(outcome?.answer?.changes ?? []).map(({ problem }) => problem)
          );
          continue;
        }
        const reply = replyOf(
          count,
          pendingDecisions.decide(ask.id, decisions)
        );
        if (reply !== null) {
          const outcome = await target.link?.outcome('reply', {
            session,
            ask_id: ask.id,
            ...reply
          });
          pendingDecisions.forget(ask.id);
          problems.push(outcome?.error ?? '');
        }
      }
      return problems.find(problem => problem !== '') ?? '';
    },
    takeBack: ({ ask, index }) => {
      pendingDecisions.takeBack(ask?.id ?? '', index);
    }
  };
}

/** Returns changes by their calls, in the order in which they are decided: what is taken back, the newest first. */
function changesByCall(
  changes: readonly IReviewedChange[],
  { accept }: IChangeVerdict
): IReviewedChange[][] {
  const calls = new Map<string, IReviewedChange[]>();
  for (const change of changes) {
    calls.set(change.call, [...(calls.get(change.call) ?? []), change]);
  }
  const ordered = [...calls.values()];
  return accept ? ordered : ordered.reverse();
}

function decisionOf(
  { index }: IReviewedChange,
  { accept, reason = '', source }: IChangeVerdict
): CellDecision {
  return {
    index,
    accept,
    reason,
    ...(source === undefined ? {} : { source })
  };
}

export function turnActions(target: ICommandTarget): ITurnActions {
  return {
    stop: () => {
      const { session } = target;
      void target.link?.outcome('cancel', { session }).then(target.report);
    },
    retry: async () => {
      const { session } = target;
      return (await target.link?.outcome('retry', { session }))?.error ?? '';
    },
    retryTurn: async (turn, overwrite, choice) => {
      const { session } = target;
      const outcome = await target.link?.outcome('retry', {
        session,
        target: turn,
        overwrite: [...overwrite],
        ...choice
      });
      // The turn may be gone by now, and what is drawn of it.
      target.report(outcome ?? {});
      return outcome?.error ?? '';
    }
  };
}

export function contextEditor(target: ICommandTarget): IContextEditor {
  return {
    edit: async (action, part, hold) => {
      const fields = { session: target.session, action, target: part, hold };
      return (await target.link?.outcome('context-edit', fields))?.error ?? '';
    }
  };
}

export function heldRequestActions(
  target: ICommandTarget
): IHeldRequestActions {
  return {
    release: hold => {
      const { session } = target;
      void target.link
        ?.outcome('release', { session, hold })
        .then(target.report);
    },
    askForAnotherSummary: async hold => {
      const fields = { session: target.session, hold };
      return (
        (await target.link?.outcome('another-summary', fields))?.error ?? ''
      );
    },
    useOlderSummary: async hold => {
      const fields = { session: target.session, hold };
      return (await target.link?.outcome('older-summary', fields))?.error ?? '';
    },
    changeNumber: async (hold, name, value) => {
      const fields = {
        session: target.session,
        hold,
        words: [`${name}=${value}`]
      };
      return (await target.link?.outcome('policy', fields))?.error ?? '';
    },
    changeLimit: async (usd, tokens) => {
      const fields = { session: target.session, usd, tokens };
      return (await target.link?.outcome('budget', fields))?.error ?? '';
    },
    setStepMode: on => {
      const { session } = target;
      void target.link?.outcome('step', { session, on }).then(target.report);
    }
  };
}

export function compactionActions(target: ICommandTarget): ICompactionActions {
  return {
    compact: () => {
      const { session } = target;
      void target.link?.outcome('compact', { session }).then(target.report);
    }
  };
}

export function revertActions(target: ICommandTarget): IRevertActions {
  const run = async (
    action: 'preview' | 'revert' | 'unrevert' | 'cleanup',
    message = '',
    overwrite: readonly string[] = []
  ) => {
    const outcome = await target.link?.outcome('revert', {
      session: target.session,
      action,
      target: message,
      overwrite: [...overwrite]
    });
    return { error: outcome?.error, revert: outcome?.answer?.revert };
  };
  return {
    preview: message => run('preview', message),
    revert: (message, overwrite) => run('revert', message, overwrite),
    unrevert: () => run('unrevert'),
    cleanup: () => run('cleanup')
  };
}

export function pictureLoader(target: ICommandTarget): IPictureLoader {
  return {
    load: async url => {
      const fields = { session: target.session, url };
      return (await target.link?.outcome('image', fields))?.answer?.image ?? '';
    }
  };
}
