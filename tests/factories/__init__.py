"""What tests are made of: small learners, fleets, studies, environments, and folders of results."""
