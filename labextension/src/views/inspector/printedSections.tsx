/** Every view of the inspector below each other, as they are put on paper; the request's texts are left out. */
import { useHost } from '../host';
import { policyText } from '../../state/inspector/labels';
import { useInspectedSession, useInspectorCursor } from './controls/inspection';
import { ComparedTab } from './compared/comparedTab';
import { BreaksTable } from './costs/breaksTable';
import { PartCard, ShownPart } from './inspectorParts';
import { ItemCard } from './items/itemCard';
import { ItemGrid } from './items/itemGrid';
import { NoteList } from './notes/noteList';
import { useReaderNotes } from './notes/readerNotes';
import { Compactions } from './requests/compactions';
import { RequestTable } from './requests/requestTable';
import { Subagents } from './requests/subagents';
import { CursorSentence } from './timeline/cursorSentence';
import { KindLegend } from './timeline/kindLegend';
import { RangeSentence } from './timeline/rangeSentence';
import { TimelineTracks } from './timeline/timelineTracks';

const PRINTED_GRID_PX = 480;

/** Draws the views, each in a card of its own. */
export function PrintedSections() {
  const { words } = useHost();
  const { item } = useInspectorCursor();
  const { notes } = useReaderNotes();
  return (
    <>
      <ComparedTab />
      <ShownPart part="tracks">
        <TimelineTracks isExplained />
        <RangeSentence />
        <KindLegend />
      </ShownPart>
      <PolicyNumbers />
      <ShownPart part="sentence">
        <CursorSentence />
      </ShownPart>
      <div className="plm-Inspector-stack plm-Inspector-printed">
        <PartCard part="difference" />
        <div className="plm-Inspector-card">
          <ShownPart part="grid">
            <ItemGrid height={PRINTED_GRID_PX} isPrinted />
          </ShownPart>
          {item !== null && (
            <ShownPart part="card" replacement={null}>
              <ItemCard item={item} />
            </ShownPart>
          )}
        </div>
        <PartCard part="window" />
        <PartCard part="requests">
          <h3>{words.__('Requests')}</h3>
          <RequestTable />
        </PartCard>
        <PartCard part="cost" />
        <PartCard part="figures" />
        <PartCard part="breaks">
          <BreaksTable isWhole />
        </PartCard>
        <PartCard part="wastes" />
        <PartCard part="totals" />
        {notes.length > 0 && (
          <div className="plm-Inspector-card">
            <NoteList />
          </div>
        )}
        <PartCard part="compactions">
          <Compactions isWhole />
          <Subagents />
        </PartCard>
      </div>
    </>
  );
}

/** Draws the numbers of the second track's policy, which its sliders show on a screen. */
function PolicyNumbers() {
  const { words } = useHost();
  const { view, whatIf } = useInspectedSession();
  const option = view.policies.find(option => option.name === whatIf?.policy);
  if (whatIf === null || option === undefined) {
    return null;
  }
  const numbers = Object.fromEntries(
    option.sliders.map(({ name, default: preset }) => [
      name,
      whatIf.numbers[name] ?? preset
    ])
  );
  return (
    <p className="plm-Muted">
      {words.__('What if: %1.', policyText(option.name, numbers))} {option.what}
    </p>
  );
}
