import './base.css';
import './panel.css';
import './asked.css';
import './forced.css';
