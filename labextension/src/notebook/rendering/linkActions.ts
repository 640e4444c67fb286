/** A user's actions in one session as commands to its kernel; shared by cell and panel. */
import type { CommandFields, ILink, IOutcome } from '../../kernel/kernelLink';
import type { CellDecision, Command } from '../../protocol/generated';
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

type CommandType = Command['type'];

/** Sends a command about the session; undefined where there is no link. */
async function outcomeOf<T extends CommandType>(
  { link, session }: ICommandTarget,
  type: T,
  fields: CommandFields<T> = {}
): Promise<IOutcome<T> | undefined> {
  return link?.outcome(type, { session, ...fields });
}

/** Sends a command about the session; resolves to its error, or to an empty string. */
async function errorAfter<T extends CommandType>(
  target: ICommandTarget,
  type: T,
  fields?: CommandFields<T>
): Promise<string> {
  return (await outcomeOf(target, type, fields))?.error ?? '';
}

/** Sends a command about the session; an error is reported. */
function send<T extends CommandType>(
  target: ICommandTarget,
  type: T,
  fields?: CommandFields<T>
): void {
  void outcomeOf(target, type, fields).then(outcome => {
    if (outcome !== undefined) {
      target.report(outcome);
    }
  });
}

export function answerActions(target: ICommandTarget): IAnswerActions {
  return {
    reply: (ask_id, answer, feedback, scope) => {
      // An approval carries the decisions on single changes that were made before.
      const cells = [...pendingDecisions.decisionsOf(ask_id).values()];
      send(target, 'reply', {
        ask_id,
        answer,
        feedback,
        scope,
        ...(answer === 'once' && cells.length > 0 ? { cells } : {})
      });
      pendingDecisions.forget(ask_id);
    },
    answer: (question_id, answers) => {
      send(target, 'answer', { question_id, answers: answers ?? undefined });
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
        const [
          { ask, callId, callChangeCount } = { callId: '', callChangeCount: 0 }
        ] = ofCall;
        const decisions = ofCall.map(change => decisionOf(change, verdict));
        if (ask === undefined) {
          const outcome = await target.link?.outcome('review-cells', {
            session,
            call: callId,
            decisions
          });
          problems.push(
            outcome?.error ?? '',
            ...(outcome?.answer?.changes ?? []).map(({ problem }) => problem)
          );
          continue;
        }
        const reply = replyOf(
          callChangeCount,
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
    calls.set(change.callId, [...(calls.get(change.callId) ?? []), change]);
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
      send(target, 'cancel');
    },
    retry: () => errorAfter(target, 'retry'),
    retryTurn: async (turn, overwrite, choice) => {
      const outcome = await outcomeOf(target, 'retry', {
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
    edit: (action, part, hold) =>
      errorAfter(target, 'context-edit', { action, target: part, hold })
  };
}

export function heldRequestActions(
  target: ICommandTarget
): IHeldRequestActions {
  return {
    release: hold => {
      send(target, 'release', { hold });
    },
    askForAnotherSummary: hold =>
      errorAfter(target, 'another-summary', { hold }),
    useOlderSummary: hold => errorAfter(target, 'older-summary', { hold }),
    changeNumber: (hold, name, value) =>
      errorAfter(target, 'policy', { hold, words: [`${name}=${value}`] }),
    changeLimit: (usd, tokens) => errorAfter(target, 'budget', { usd, tokens }),
    setStepMode: on => {
      send(target, 'step', { on });
    }
  };
}

export function compactionActions(target: ICommandTarget): ICompactionActions {
  return {
    compact: () => {
      send(target, 'compact');
    }
  };
}

export function revertActions(target: ICommandTarget): IRevertActions {
  const run = async (
    action: 'preview' | 'revert' | 'unrevert' | 'cleanup',
    message = '',
    overwrite: readonly string[] = []
  ) => {
    const outcome = await outcomeOf(target, 'revert', {
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
    load: async url =>
      (await outcomeOf(target, 'image', { url }))?.answer?.image ?? ''
  };
}
