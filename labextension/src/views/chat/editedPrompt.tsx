/** The mark above the text field while the prompt of an earlier turn is changed, and what goes when it is sent. */
import { useEffect, useState } from 'react';
import type { RevertPreview } from '../../protocol/generated';
import { useRevertActions } from '../actions/reverts';
import type { IDrafts } from '../drafts/drafts';
import { LinkButton } from '../controls/buttons';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';
import {
  changedFiles,
  laterTurnCount,
  Preview
} from '../transcript/revertPreview';
import { unlessGone } from '../dom/effects';

/** Draws which prompt is changed, and what goes; nothing while a new prompt is written. */
export function EditedPrompt(props: { drafts: IDrafts; onCancel: () => void }) {
  const { drafts, onCancel } = props;
  const { words } = useHost();
  const { replaced: replacedTurn } = drafts.draft;
  const { preview, problem } = usePreview(replacedTurn?.turn);
  if (replacedTurn === undefined) {
    return null;
  }
  return (
    <div
      className="plm-EditedPrompt"
      role="group"
      aria-label={words.__('The prompt that is changed')}
    >
      <div className="plm-EditedPrompt-head">
        <span role="status">
          {words.__('Editing the prompt “%1”.', replacedTurn.excerpt)}{' '}
          {preview !== null && replacementSentence(preview, words)}
          {problem !== '' && (
            <span className="plm-Revert-problem">{problem}</span>
          )}
        </span>
        <LinkButton onClick={onCancel}>{words.__('Cancel')}</LinkButton>
      </div>
      {preview !== null && (
        <Disclosure
          className="plm-EditedPrompt-goes"
          head={words.__('What goes')}
          open={preview.files.some(({ action }) => action === 'conflict')}
        >
          <Preview
            preview={preview}
            isFinal
            overwrittenFiles={replacedTurn.overwrite}
            onOverwrite={files => {
              drafts.overwrite(files);
            }}
          />
        </Disclosure>
      )}
    </div>
  );
}

/** Returns what a revert would do; null while it is not known, and where nothing can be reverted now. */
function usePreview(turn: string | undefined): {
  preview: RevertPreview | null;
  problem: string;
} {
  const actions = useRevertActions();
  const [lastPreview, setLastPreview] = useState<{
    turn?: string;
    preview: RevertPreview | null;
    problem: string;
  }>(NO_PREVIEW);
  useEffect(() => {
    if (turn === undefined || actions === null) {
      return;
    }
    return unlessGone(actions.preview(turn), ({ revert, error }) => {
      setLastPreview({ turn, preview: revert ?? null, problem: error ?? '' });
    });
  }, [turn, actions]);
  return lastPreview.turn === turn ? lastPreview : NO_PREVIEW;
}

const NO_PREVIEW = { preview: null, problem: '' };

function replacementSentence(preview: RevertPreview, words: IWords): string {
  const turns = laterTurnCount(preview);
  const files = changedFiles(preview).length;
  if (turns === 0 && files === 0) {
    return words.__('Its answer goes when it is sent.');
  }
  const turnsText = words._n('%1 later turn', '%1 later turns', turns);
  const filesText = words._n('%1 file', '%1 files', files);
  return turns === 0
    ? words.__('Its answer and %1 go when it is sent.', filesText)
    : files === 0
      ? words.__('Its answer and %1 go when it is sent.', turnsText)
      : words.__('%1 and %2 go when it is sent.', turnsText, filesText);
}
