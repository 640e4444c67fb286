/** Every view of the inspector below each other, as they are put on paper; the request's texts are left out. */
import { useHost } from '../host';
import { policyText } from '../../state/inspector/labels';
import { useInspectedSession, useInspectorCursor } from './controls/inspection';
import { ComparedTab } from './compared/comparedTab';
import { BreaksTable } from './costs/breaksTable';
import { CostChart } from './costs/costChart';
import { FiguresTable } from './costs/figuresTable';
import { Notes, Wastes } from './costs/wastes';
import { ItemCard } from './items/itemCard';
import { GridLegend } from './items/gridLegend';
import { ItemGrid } from './items/itemGrid';
import { WindowTable } from './items/windowTable';
import { NoteList } from './notes/noteList';
import { useReaderNotes } from './notes/readerNotes';
import { Compactions } from './requests/compactions';
import { DifferenceView } from './requests/differenceView';
import { RequestTable } from './requests/requestTable';
import { Subagents } from './requests/subagents';
import { CursorSentence } from './timeline/cursorSentence';
import { KindLegend } from './timeline/kindLegend';
import { RangeSentence } from './timeline/rangeSentence';
import { TimelineTracks } from './timeline/timelineTracks';

/** Draws the views, each in a card of its own. */
export function PrintedSections() {
  const { words } = useHost();
  const { item } = useInspectorCursor();
  const { notes } = useReaderNotes();
  return (
    <>
      <ComparedTab />
      <TimelineTracks isExplained />
      <RangeSentence />
      <KindLegend />
      <PolicyNumbers />
      <CursorSentence />
      <div className="plm-Inspector-stack plm-Inspector-printed">
        <div className="plm-Inspector-card">
          <DifferenceView />
        </div>
        <div className="plm-Inspector-card">
          <div className="plm-Inspector-head">
            <h3>{words.__('Items by requests')}</h3>
            <GridLegend />
          </div>
          <ItemGrid height={480} isPrinted />
          {item !== null && <ItemCard item={item} />}
        </div>
        <div className="plm-Inspector-card">
          <WindowTable />
        </div>
        <div className="plm-Inspector-card">
          <h3>{words.__('Requests')}</h3>
          <RequestTable />
        </div>
        <div className="plm-Inspector-card">
          <CostChart />
        </div>
        <div className="plm-Inspector-card">
          <FiguresTable />
        </div>
        <div className="plm-Inspector-card">
          <BreaksTable isWhole />
        </div>
        <div className="plm-Inspector-card">
          <Wastes />
        </div>
        <div className="plm-Inspector-card">
          <Notes />
        </div>
        {notes.length > 0 && (
          <div className="plm-Inspector-card">
            <NoteList />
          </div>
        )}
        <div className="plm-Inspector-card">
          <Compactions isWhole />
          <Subagents />
        </div>
      </div>
    </>
  );
}

/** The numbers of the second track's policy, which its sliders show on a screen. */
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
