/** Buttons that lead keys past the tracks and the controls; they are seen while they have the focus. */
import type { MouseEvent } from 'react';
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { useInspection } from './controls/inspection';
import type { TabName } from './inspectorHeader';

const GRID = '.plm-ItemGrid-box';
const SENTENCE = '.plm-CursorSentence';
const TABS_WITH_GRID: readonly TabName[] = ['timeline', 'items'];

/** Draws the buttons for what a tab shows; they stand before all else that has the focus. */
export function SkipLinks({ tab }: { tab: TabName }) {
  const { words } = useHost();
  const { item, cardFocus } = useInspection();
  // In the Cost tab no item is chosen from anything.
  const hasCard = item !== null && tab !== 'cost';
  const skipTo =
    (selector: string) =>
    ({ currentTarget }: MouseEvent) => {
      currentTarget
        .closest('.plm-Inspector')
        ?.querySelector<HTMLElement>(selector)
        ?.focus();
    };
  return (
    <div
      className="plm-Skips"
      role="group"
      aria-label={words.__('Skip the tracks')}
    >
      {TABS_WITH_GRID.includes(tab) && (
        <OutlinedButton onClick={skipTo(GRID)}>
          {words.__('Skip to the grid')}
        </OutlinedButton>
      )}
      {hasCard && (
        <OutlinedButton
          onClick={({ currentTarget }) => {
            cardFocus.moveIntoCard(currentTarget);
          }}
        >
          {words.__('Skip to the card')}
        </OutlinedButton>
      )}
      <OutlinedButton onClick={skipTo(SENTENCE)}>
        {words.__('Skip to the sentence')}
      </OutlinedButton>
    </div>
  );
}
