/** Two sessions side by side: where they part, both tracks, and their figures. */
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { ComparedTracks } from './comparedTracks';
import { ComparedFigures, ComparedFiles } from './comparedFigures';
import { PartingCard } from './partingCard';

/** Draws the sentences on how the figures were computed. */
function ComparedNotes({ notes }: { notes: readonly string[] }) {
  const { words } = useHost();
  return (
    <section
      className="plm-Inspector-card"
      role="group"
      aria-label={words.__('Notes on both sessions')}
    >
      <h3>{words.__('Notes')}</h3>
      {notes.map(note => (
        <p key={note} className="plm-Muted">
          <bdi>{note}</bdi>
        </p>
      ))}
    </section>
  );
}

/** Draws the tab; nothing where one session is inspected alone. */
export function ComparedTab() {
  const { comparedView } = useInspectedSession();
  if (comparedView === null) {
    return null;
  }
  const { comparison } = comparedView;
  const hasFiles = comparison.files.length > 0;
  const hasNotes = comparison.notes.length > 0;
  return (
    <div className="plm-Inspector-stack plm-Compared">
      <div className="plm-Inspector-card">
        <PartingCard comparedView={comparedView} />
      </div>
      <div className="plm-Inspector-card">
        <ComparedTracks comparison={comparison} />
      </div>
      <div className="plm-Inspector-columns plm-Compared-tables">
        <div className="plm-Inspector-card">
          <ComparedFigures comparison={comparison} />
        </div>
        <div className="plm-Inspector-stack">
          {hasFiles && (
            <div className="plm-Inspector-card">
              <ComparedFiles comparison={comparison} />
            </div>
          )}
          {hasNotes && <ComparedNotes notes={comparison.notes} />}
        </div>
      </div>
    </div>
  );
}
