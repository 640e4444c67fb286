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

/** Draws the mark; nothing while a new prompt is written. */
export function EditedPrompt(props: { drafts: IDrafts; onCancel: () => void }) {
  const { drafts, onCancel } = props;
  const { words } = useHost();
  const { replaced } = drafts.draft;
  const { preview, problem } = usePreview(replaced?.turn);
  if (replaced === undefined) {
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
          {words.__('Editing the prompt “%1”.', replaced.excerpt)}{' '}
          {preview !== null && replacedWords(preview, words)}
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
            overwrittenFiles={replaced.overwrite}
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
  }>(NOTHING);
  useEffect(() => {
    if (turn === undefined || actions === null) {
      return;
    }
    return unlessGone(actions.preview(turn), ({ revert, error }) => {
      setLastPreview({ turn, preview: revert ?? null, problem: error ?? '' });
    });
  }, [turn, actions]);
  return lastPreview.turn === turn ? lastPreview : NOTHING;
}

const NOTHING = { preview: null, problem: '' };

function replacedWords(preview: RevertPreview, words: IWords): string {
  const turns = laterTurnCount(preview);
  const files = changedFiles(preview).length;
  if (turns === 0 && files === 0) {
    return words.__('Its answer goes when it is sent.');
  }
  const later = words._n('%1 later turn', '%1 later turns', turns);
  const changed = words._n('%1 file', '%1 files', files);
  return turns === 0
    ? words.__('Its answer and %1 go when it is sent.', changed)
    : files === 0
      ? words.__('Its answer and %1 go when it is sent.', later)
      : words.__('%1 and %2 go when it is sent.', later, changed);
}
