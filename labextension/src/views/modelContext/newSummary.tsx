/**
 * A summary that a held request would be the first to use, and the one that was put aside for it: their grades,
 * and the ways to another summary and to the older context.
 */
import { useState } from 'react';
import type { Decision, ProposedRequest } from '../../protocol/generated';
import { useContextEditor } from '../actions/contextEdits';
import { useHeldRequestActions } from '../actions/heldRequests';
import { LinkButton } from '../controls/buttons';
import { ProblemText } from '../controls/problemText';
import { useHost } from '../host';
import { decisionText } from './reductionNote';
import { SummaryGrade } from './summaryGrade';

/** Draws what the summary keeps and loses; before anything is sent it can be put aside, or its compaction undone. */
export function NewSummary({ request, decision }: IHeldSummaryProps) {
  const { words } = useHost();
  const editor = useContextEditor();
  const actions = useHeldRequestActions();
  const summaryId = decision.message_id;
  return (
    <GradedSummary
      name={words.__('The new summary')}
      note={words.__('It would be the first to use a new summary.')}
      decision={decision}
      summaryActions={[
        {
          name: words.__('Ask for another summary'),
          description: words.__(
            'The summary is put aside and stays in the log with its cost; the request for the other is held, too.'
          ),
          choose: actions && (() => actions.askForAnotherSummary(request.id))
        },
        {
          name: words.__('Keep the older context instead'),
          description: words.__(
            'The compaction is undone, and nothing is compacted by itself until the next prompt.'
          ),
          choose:
            editor === null || summaryId === undefined
              ? null
              : () => editor.edit('restore', summaryId, request.id)
        }
      ]}
    />
  );
}

/** Draws the grade of the summary that was put aside, to be compared with the new one; it can be taken back. */
export function OlderSummary({ request, decision }: IHeldSummaryProps) {
  const { words } = useHost();
  const actions = useHeldRequestActions();
  const isRequested = request.purpose === 'compaction';
  return (
    <GradedSummary
      name={words.__('The summary that was put aside')}
      note={
        request.new_summary === undefined && !isRequested
          ? words.__('You put a summary aside.')
          : words.__('You put a summary aside for it.')
      }
      decision={decision}
      summaryActions={[
        {
          name: words.__('Use this summary'),
          description: isRequested
            ? words.__('The other one is not requested.')
            : words.__(
                'It stands in the place of what it covers, and a newer one is put aside.'
              ),
          choose: actions && (() => actions.useOlderSummary(request.id))
        }
      ]}
    />
  );
}

interface IHeldSummaryProps {
  request: ProposedRequest;
  decision: Decision;
}

/** An action on a summary, offered by a button. */
interface ISummaryAction {
  name: string;
  description: string;
  /** Resolves to an error sentence, or an empty string; null where it is not offered. */
  choose: (() => Promise<string>) | null;
}

interface IGradedSummaryProps {
  name: string;
  note: string;
  decision: Decision;
  summaryActions: readonly ISummaryAction[];
}

/** Draws a summary's grade, and below it what can be done about it. */
function GradedSummary({
  name,
  note,
  decision,
  summaryActions
}: IGradedSummaryProps) {
  const { words } = useHost();
  const [isChosen, setChosen] = useState(false);
  const [failure, setFailure] = useState('');
  return (
    <div className="plm-HeldRequest-summary" role="group" aria-label={name}>
      <p className="plm-HeldRequest-note">
        {note} <bdi>{decisionText(decision, words)}</bdi>
      </p>
      <SummaryGrade decision={decision} />
      <p className="plm-HeldRequest-ways">
        {summaryActions.map(
          ({ description, choose, name: label }) =>
            choose !== null && (
              <LinkButton
                key={label}
                disabled={isChosen}
                aria-description={description}
                onClick={() => {
                  setChosen(true);
                  void choose().then(problem => {
                    setChosen(problem === '');
                    setFailure(problem);
                  });
                }}
              >
                {label}
              </LinkButton>
            )
        )}
      </p>
      <ProblemText text={failure} />
    </div>
  );
}
